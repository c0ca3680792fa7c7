internal import SettingsEngine

/// A question that a request asks, and may go on asking: its answer depends on the state and on the place of the caller.
///
/// Callers with the same question and place share one rendered answer.
struct Question: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        /// What a GET shows. A request that waits names the tags that it knows, and whether the suite was there: its end
        /// is an answer, too. Indirect, so that every `Watcher` stays small.
        indirect case reading(Reading, known: TagList?, hadSuite: Bool)
        /// Everything that is watched.
        case state(isReset: Bool)
        /// The commits after a place, in one body.
        case changes(limit: Int?, keepsLatest: Bool)
        /// That no commit came after a place.
        case noChanges
        /// Everything that is watched, as the event that begins a stream.
        case stateEvent(isReset: Bool, EventStyle)
        /// The commits after a place, each as an event.
        case commitEvents(EventStyle)
        /// All flags of a suite, in OpenFeature's form.
        case flags

        /// True if the answer is a piece of a stream.
        var isOfStream: Bool {
            switch self {
            case .stateEvent, .commitEvents: true
            case .reading, .state, .changes, .noChanges, .flags: false
            }
        }

        /// The style of the events of a stream.
        var style: EventStyle {
            switch self {
            case .stateEvent(_, let style), .commitEvents(let style): style
            case .reading, .state, .changes, .noChanges, .flags: .changes
            }
        }
    }

    let subject: WatchSubject
    let form: Form

    init(_ subject: WatchSubject, _ form: Form) {
        self.subject = subject
        self.form = form
    }
}

/// A style of the events of a stream.
enum EventStyle: Hashable, Sendable {
    /// The state, then each commit with its changes.
    case changes
    /// OpenFeature's: each commit as the news that the flags are to be fetched again.
    case refetches
}
