import SettingsAPI
import SettingsModel

/// The requests of one watcher in a `Storm` (a test that kills the daemon while clients write and watch) and their
/// answers, in the order of time. All times are nanoseconds of a monotonic clock.
struct Transcript: Sendable {
    let number: Int
    let watched: Watched
    var steps: [Step] = []

    enum Step: Sendable {
        case received(Received)
        /// The watcher saves its cursor and values.
        case savedState
        /// The watcher returns to the saved cursor and values, like a client that starts from saved data.
        case returnedToSavedState
        /// The watcher discards its cursor and values.
        case discardedState
    }

    init(_ number: Int, _ watched: Watched, _ steps: [Step] = []) {
        self.number = number
        self.watched = watched
        self.steps = steps
    }
}

/// A request and its answer, or one event of a stream.
struct Received: Sendable {
    var request: WatcherRequest
    var content: Content
    /// The time of arrival.
    var at: UInt64

    /// The received content, or the end of the connection.
    enum Content: Sendable {
        case state(ObservedState)
        case changes(ObservedChanges)
        case commit(StreamCommit)
        /// The stream sent a cursor without an event: a keep-alive, or, if `isLast`, the end of the stream.
        case cursorOnly(Cursor, isLast: Bool = false)
        /// The suite does not exist at this cursor.
        case absent(Cursor)
        /// The stream starts, or starts again, without the suite.
        case missing(Cursor)
        /// The stream ended properly.
        case ended
        /// The daemon refused the request because it is stopping.
        case refused
        /// The watcher disconnected while no data was waiting.
        case disconnected
        /// The watcher disconnected in the middle of an answer or event.
        case disconnectedMidAnswer
        /// The connection was lost.
        case lost
        /// No answer arrived long after the end of the wait.
        case noAnswer
        /// An unexpected answer.
        case unexpected(String)
    }
}

/// A request of a watcher.
struct WatcherRequest: Sendable {
    enum Kind: Sendable, Equatable {
        case poll(wait: Int?, limit: Int?, isLatest: Bool)
        case stream
    }

    /// The number of restarts of the daemon before the request.
    var life: Int
    var since: ResumePoint?
    var kind: Kind
    /// The time of sending.
    var at: UInt64
    /// True if the watcher closed its sending side.
    var isHalfClosed = false
    /// True if the watcher reads slowly.
    var isSlow = false

    /// The requested duration of the wait in seconds, 30 by default.
    var wait: Int {
        if case .poll(let wait?, _, _) = kind { wait } else { 30 }
    }

    /// True if a poll waits until the suite exists: if the request has `wait` or `since`. A wait of 0 seconds also
    /// counts, because its `shortestWait` is 0.
    var waitsForSuite: Bool {
        if case .poll(.some, _, _) = kind { true } else { since != nil }
    }

    /// The shortest wait before an answer without changes, in nanoseconds, minus the tolerance for clocks.
    var shortestWait: UInt64 {
        let wait = UInt64(wait) * 1_000_000_000
        // The daemon shortens a wait of 10 seconds or more by up to a tenth.
        let shortest = wait >= 10_000_000_000 ? wait / 10 * 9 : wait
        return shortest > Patience.clockTolerance ? shortest - Patience.clockTolerance : 0
    }
}

/// Limits on durations, in nanoseconds.
enum Patience {
    /// The tolerance for a wait that is too short.
    static let clockTolerance: UInt64 = 50_000_000
    /// The longest time until a change or an answer must arrive: far more than a correct daemon needs on a busy
    /// machine.
    static let maximumDelivery: UInt64 = 4_000_000_000
}

/// One life of the daemon, from its start to its kill or stop.
struct StormLife: Sendable {
    /// The time of the kill or of the request to stop.
    var endedAt: UInt64
    var isKilled: Bool
    /// The last commit of the life.
    var last: Revision
}

/// The commits of a storm according to the journals, and the ended lives of the daemon. The number of a life is its
/// index in `lives`, which lacks the last life.
struct StormRecord: Sendable {
    var journal: JournaledCommits
    var lives: [StormLife]
    /// The configured number of commits in the history.
    var history: Int
    /// The times at which writers received their answers.
    var acknowledged: [Revision: UInt64] = [:]

    /// True if the history at `revision` may no longer have all commits after the cursor `known`, so that a reset is a
    /// correct answer. Half of the history is reserved for the newest commits of all suites.
    func mayBeEvicted(_ known: Revision, at revision: Revision) -> Bool {
        journal.count(after: known, upTo: revision) > history / 2
    }
}
