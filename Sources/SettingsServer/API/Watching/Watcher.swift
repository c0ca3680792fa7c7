internal import SettingsModel

/// Somebody who waits, and for what.
struct Watcher {
    /// What it waits for.
    enum Purpose {
        /// For changes, to be told in one answer.
        case changes(limit: Int?, keepsLatest: Bool)
        /// For the suite to appear; then it gets the state.
        case suite(isReset: Bool)
        /// For another answer than the one that goes by these tags; without tags, for anything to show. Where the suite
        /// was there, its end is another answer.
        case reading(Reading, known: TagList?, hadSuite: Bool)
        /// For whatever comes: events are told as they happen.
        case stream(Progress)
    }

    /// How far a stream has come.
    enum Progress {
        /// It is to be told the state first.
        case opening(isReset: Bool)
        /// It is told what happened before, piece by piece, as it takes them.
        case catchingUp
        /// What it is told next is being made into text beside the loop.
        case awaitingText
        /// It has had the event that the suite is missing, and gets the state when there is one.
        case missing
        /// The suite that was missing is there, and the stream is about to get its state.
        case appearing
        /// It is told what happens at once.
        case live

        /// True if it has had all that happened.
        var isPresent: Bool {
            switch self {
            case .missing, .live: true
            case .opening, .catchingUp, .awaitingText, .appearing: false
            }
        }
    }

    let topic: Topic
    /// Where it stands among the members of its topic.
    var place: Int
    /// Who it is, for the limits.
    let peer: WatcherCount.Peer
    var purpose: Purpose
    /// Nothing that concerns it happened up to here that it was not told. May be ahead of what is published.
    var after: Revision
    /// Whether it is in the line of those to be looked at.
    var isDue = false

    var subject: WatchSubject { topic.subject }

    /// Whether it has still to be told of things that happened before.
    var isBehind: Bool {
        if case .stream(let progress) = purpose { !progress.isPresent } else { false }
    }

    /// Up to what was seen nothing has happened to one who is not due: so all of a topic share one answer, whenever they
    /// came, and nobody looks again at what came to pass while they waited.
    mutating func bringUp(to seen: Revision) {
        if !isDue, !isBehind { after = max(after, seen) }
    }

    /// It is to be looked at, as something that concerns it came after what was seen. False if it is already.
    mutating func becomeDue(_ seen: Revision) -> Bool {
        guard !isDue else { return false }
        bringUp(to: seen)
        isDue = true
        return true
    }
}
