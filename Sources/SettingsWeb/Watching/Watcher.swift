internal import HTTPServer
internal import Platform
internal import SettingsAPI

/// A request that waits for commits: a long poll, a GET with `wait`, or an event stream. Owned by the event loop.
final class Watcher {
    /// A phase of an event stream.
    enum StreamPhase {
        /// The client has been sent all published events, and is sent new events at once.
        case live
        /// The client is sent earlier events in pieces. The next piece follows when the client has received the last piece.
        case catchingUp
        /// A scheduler renders the next piece.
        indirect case rendering(BackgroundAnswers.Key)
    }

    // The order leaves no gaps, because there may be many thousands of watchers.
    let id: Ticket
    /// The position among the members of the topic.
    var topicPosition: UInt32
    let topic: Topic
    /// The client that the watcher counts for.
    let client: ClientCounts.Client
    /// The client has every matching commit up to this revision. May be ahead of the published state.
    var revision: Revision
    /// Nil for a request that gets one answer.
    var phase: StreamPhase?
    var form: Question.Kind
    /// True if the watcher is in the queue of watchers that are woken up.
    var isDue = false
    /// True for a stream that ends after the client has been sent all published events.
    var isEnding = false

    init(
        id: Ticket, topic: Topic, topicPosition: Int, client: ClientCounts.Client, revision: Revision,
        form: Question.Kind, phase: StreamPhase?
    ) {
        self.id = id
        self.topic = topic
        self.topicPosition = UInt32(topicPosition)
        self.client = client
        self.revision = revision
        self.form = form
        self.phase = phase
    }

    var question: Question { Question(topic.subject, form) }

    /// True if the watcher is an event stream.
    var isStream: Bool { phase != nil }

    /// True for a stream that has not been sent all published events yet.
    var isBehind: Bool {
        switch phase {
        case nil, .live: false
        case .catchingUp, .rendering: true
        }
    }

    /// Advances the revision to the last commit that was compared with all topics: no earlier commit concerns a watcher that is
    /// not due. Therefore all watchers of a topic have the same revision and can share an answer.
    func advance(to compared: Revision) {
        if !isDue, !isBehind { revision = max(revision, compared) }
    }
}
