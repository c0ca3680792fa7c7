import SettingsAPI
import SettingsModel

/// The questions of one watcher, and their answers.
struct Transcript: Sendable {
    let number: Int
    let watched: Watched
    var steps: [Step] = []

    enum Step: Sendable {
        case received(Received)
        /// What is known is kept for later.
        case kept
        /// What was kept is gone back to, as by a client that begins with what it once saved.
        case wentBack
        /// All that was known is forgotten.
        case forgot
    }

    init(_ number: Int, _ watched: Watched, _ steps: [Step] = []) {
        self.number = number
        self.watched = watched
        self.steps = steps
    }
}

/// A question and one thing that came of it; a stream has many.
struct Received: Sendable {
    var ask: Ask
    var content: Content
    /// When that came.
    var at: UInt64

    /// What came.
    enum Content: Sendable {
        case state(ObservedState)
        case changes(ObservedChanges)
        case commit(StreamCommit)
        /// A stream has come so far without an event.
        case place(Cursor, isLast: Bool = false)
        /// The suite does not exist at this place.
        case absent(Cursor)
        /// A stream begins, or begins anew, without the suite.
        case missing(Cursor)
        /// The stream ended as it should.
        case ended
        /// The daemon is going down.
        case refused
        /// The watcher went away while nothing was there for it.
        case left
        /// The watcher went away in the middle of what came.
        case tore
        /// The connection was lost.
        case lost
        /// Nothing came long after the time was up.
        case silence
        /// Something that is none of these.
        case nonsense(String)
    }
}

/// A question.
struct Ask: Sendable {
    enum Form: Sendable, Equatable {
        case poll(wait: Int?, limit: Int?, isLatest: Bool)
        case stream
    }

    /// Which start of the daemon it was put to, from 0.
    var life: Int
    var since: ResumePoint?
    var form: Form
    /// When it was sent.
    var at: UInt64
    /// True if the watcher closed its sending side.
    var isHalfClosed = false
    /// True if the watcher takes its time to read.
    var isSlow = false

    /// For how long a watcher without changes may wait, in seconds.
    var wait: Int {
        if case .poll(let wait?, _, _) = form { wait } else { 30 }
    }

    /// True if it waits for a suite that does not exist.
    var waitsForSuite: Bool {
        if case .poll(.some, _, _) = form { true } else { since != nil }
    }

    /// The shortest wait before an answer without changes, in nanoseconds, less what clocks may differ by.
    var least: UInt64 {
        let wait = UInt64(wait) * 1_000_000_000
        let shortest = wait >= 10_000_000_000 ? wait / 10 * 9 : wait
        return shortest > Patience.clocks ? shortest - Patience.clocks : 0
    }
}

/// How long things may take, in nanoseconds.
enum Patience {
    /// By how much a wait may be too short.
    static let clocks: UInt64 = 50_000_000
    /// Until a watcher is answered: far more than a sound daemon takes on a busy machine.
    static let delivery: UInt64 = 4_000_000_000
}

/// One start of the daemon.
struct StormLife: Sendable {
    /// When it was asked to stop, or killed.
    var endedAt: UInt64
    var isKilled: Bool
    /// The last commit that it left.
    var last: Revision
}

/// All that is known of a storm when it is over.
struct StormRecord: Sendable {
    var truth: JournaledCommits
    var lives: [StormLife]
    /// How many commits the daemon is configured to keep.
    var history: Int
    /// When writers were answered.
    var acknowledged: [Revision: UInt64] = [:]

    /// True if a reset is right for a watcher that comes from one place and is answered at another. Half of the history are
    /// the newest commits of all suites.
    func isForgotten(_ known: Revision, at place: Revision) -> Bool {
        truth.count(after: known, upTo: place) > history / 2
    }
}
