internal import SettingsEngine

/// A read or a watch (a request that waits for changes) without the data that differs between clients, so that clients
/// can share its answer.
///
/// The answer depends on the answer key, on the state, and on the client revision: the revision up to which the client
/// knows all commits. Requests with the same answer key and client revision share one rendered answer.
struct AnswerKey: Hashable, Sendable {
    /// The kind of the answer, with its parameters.
    enum Kind: Hashable, Sendable {
        /// The result of a GET of a setting or a suite. With `wait`, `known` has the entity tags of `If-None-Match`. If
        /// the suite existed when the request arrived (`suiteExistedAtArrival`), its removal ends the wait.
        /// Without `wait`, `known` is nil and `suiteExistedAtArrival` is false. Indirect, because the case is large.
        indirect case reading(Reading, known: TagList?, suiteExistedAtArrival: Bool)
        /// All watched settings. `isReset` is true if the daemon cannot return the changes after the client's cursor.
        case state(isReset: Bool)
        /// The commits after the client revision in one body: about `limit` changes at most, because a commit is never
        /// split. `mergesByKey` is true to combine the changes of each setting into one change.
        case changes(limit: Int?, mergesByKey: Bool)
        /// The answer that there is no commit after the client revision.
        case noChanges
        /// All watched settings, as the first event of a stream. `isReset` has the same meaning as in `state`.
        case stateEvent(isReset: Bool, EventStyle)
        /// The commits after the client revision, with one event for each commit.
        case commitEvents(EventStyle)
        /// All flags of a suite, in the format of OpenFeature.
        case flags

        /// The style of the events; `.settings` for answers that are not events.
        var style: EventStyle {
            switch self {
            case .stateEvent(_, let style), .commitEvents(let style): style
            case .reading, .state, .changes, .noChanges, .flags: .settings
            }
        }
    }

    /// The suites, keys and prefixes that the request names, with the grants of a caller that may not read everything.
    let subject: WatchSubject
    let kind: Kind

    init(_ subject: WatchSubject, _ kind: Kind) {
        (self.subject, self.kind) = (subject, kind)
    }
}

/// The contents of the events of an event stream.
enum EventStyle: Hashable, Sendable {
    /// Settings: the first event has the state, and each later event has the changes of a commit.
    case settings
    /// For OpenFeature: each event asks the client to fetch the flags again.
    case refetchRequests
}
