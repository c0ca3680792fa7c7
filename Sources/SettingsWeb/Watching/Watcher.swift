internal import HTTPServer
internal import Platform
internal import SettingsAPI

/// A request that waits for commits: a long poll for changes, a GET of a setting or a suite with the parameter `wait`,
/// or an event stream. ``WatchNotifier`` evaluates a watcher when a commit matches its topic: all watchers of the event
/// loop with the same subject. A subject is the suites, keys and prefixes that a watcher names, and the grants of its
/// caller. Owned by the event loop.
final class Watcher {
    /// A phase of an event stream.
    enum StreamPhase {
        /// The stream has sent all published events, and sends new events at once.
        case live
        /// The stream sends earlier events in pieces, each piece when the kernel has accepted the previous piece.
        case catchingUp
        /// A background thread renders the next piece. The key identifies the rendering.
        indirect case rendering(BackgroundAnswers.Key)
    }

    // The order of the properties avoids padding, because there may be many thousands of watchers.
    /// The ticket, which identifies the unanswered request on its event loop.
    let id: Ticket
    /// The index of the watcher in the members of its topic.
    var topicPosition: UInt32
    let topic: Topic
    /// The client whose limit of watchers includes this watcher.
    let client: ClientCounts.Client
    /// As long as this object exists, the client of a suite that the request reports counts as present in the suites
    /// that the request names. Nil for a request without a report.
    let clientWatch: ClientWatch?
    /// The client has every matching commit up to this revision (the number of a commit). The revision may be ahead of
    /// the published state, because the client may have got it from another daemon with the same history.
    var revision: Revision
    /// The phase of an event stream; nil for a request that gets one answer.
    var phase: StreamPhase?
    var answerKind: AnswerKey.Kind
    /// True if the topic matches a commit for which the notifier has not evaluated the watcher yet.
    var needsEvaluation = false
    /// True for a stream that catches up and ends when it becomes live.
    var endsWhenLive = false

    init(
        id: Ticket, topic: Topic, topicPosition: Int, client: ClientCounts.Client, clientWatch: ClientWatch?,
        revision: Revision, answerKind: AnswerKey.Kind, phase: StreamPhase?
    ) {
        self.id = id
        self.topic = topic
        self.topicPosition = UInt32(topicPosition)
        self.client = client
        self.clientWatch = clientWatch
        self.revision = revision
        self.answerKind = answerKind
        self.phase = phase
    }

    /// The subject together with the kind of answer. Watchers with the same answer key and revision share one answer.
    var answerKey: AnswerKey { AnswerKey(topic.subject, answerKind) }

    var isStream: Bool { phase != nil }

    /// True for a stream that has not sent all published events yet: in the phases `catchingUp` and `rendering`.
    var isCatchingUp: Bool {
        switch phase {
        case nil, .live: false
        case .catchingUp, .rendering: true
        }
    }

    /// Raises the revision to `comparedRevision`, up to which all commits were compared with all topics, so that
    /// watchers with equal revisions can share an answer. Does nothing if the watcher needs an evaluation or catches
    /// up, because a skipped commit may then match its topic.
    func advance(to comparedRevision: Revision) {
        if !needsEvaluation, !isCatchingUp { revision = max(revision, comparedRevision) }
    }
}
