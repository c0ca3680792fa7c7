// The target SettingsStorage keeps the settings. The store publishes a state to readers. The writer decides each write,
// makes the commit durable in a log, and publishes the new state. Persistence/ contains the log in a data directory:
// journals, snapshots, recovery, past files, check, repair and backup.
//
// The target does not know HTTP, access control, or the protocol of a log that several daemons share.
//
// Read this file first, then Writer.swift, CommitLog.swift and Persistence/LocalLog.swift.

package import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A store that gives readers the published state and hands writes to the writer.
///
/// Only what is as durable as was promised is published.
package final class Store: Sendable {
    private let published: Published
    private let writer: Writer
    private let limits: LimitsInForce
    package let figures = WriteFigures()
    private let prepared = Mutex(Prepared())
    /// True if other daemons commit to the same log.
    private let isShared: Bool

    /// A store over a recovered state.
    ///
    /// - Parameters:
    ///   - log: where commits become durable; called by one thread at a time.
    ///   - monotonic: what writes wait by.
    ///   - clock: the time of day.
    package init(
        _ state: State, log: any CommitLog, limits: WriteLimits = WriteLimits(), monotonic: MonotonicClock = .system,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        published = Published(state)
        isShared = log.isShared
        self.limits = LimitsInForce(limits)
        writer = Writer(
            state, published: published, log: log, limits: self.limits, figures: figures,
            monotonic: monotonic, clock: clock)
    }

    /// The published state.
    package var state: State { published.state }

    /// Looks something up under the lock that publishes. The body must be short and call out to nothing.
    package func read<Result>(_ body: (borrowing State) -> Result) -> Result {
        published.read(body)
    }

    /// How many nanoseconds a write may wait.
    package var writePatience: UInt64 { limits.current.patience }

    /// Takes writes, to be decided in this order. The outcome of each comes exactly once: returned here if it is known at
    /// once, else to `replies`.
    ///
    /// - Parameter expecting: called, before this returns, with the outcomes that come unless the disk fails, if these are
    ///   known now.
    package func submit(
        _ writes: [PendingWrite], replies: any WriteReplies, expecting: ([WriteOutcome]) -> Void = { _ in }
    ) -> [WriteOutcome] {
        writer.submit(writes, replies: replies, expecting: expecting)
    }

    /// Decides a write on the published state, unless it may be a repeat of another. A refusal or a dry run that takes long
    /// holds up no other write then, unless other daemons may have committed what it should rest on. A commit needs the
    /// writer, which takes the decision over if its suites have not changed meanwhile. From any thread.
    package func decideBeside(_ request: inout WriteRequest) -> WriteOutcome? {
        let state = state
        guard request.requestKey == nil || request.isDryRun, let revision = state.revision.advanced(by: 1) else {
            return nil
        }
        let limits = limits.current
        do throws(Problem) {
            let decision = try state.decide(
                request, revision: revision, time: state.time, opensSuites: limits.opensSuites,
                commitKeys: limits.commitKeys, quotas: limits.quotas)
            guard decision.commit != nil else {
                if isShared { return nil }
                return WriteOutcome(id: 0, result: .success(decision.answer), cursor: state.cursor)
            }
            request.prepared = keep(PreparedWrite(decision, of: request, on: state))
            return nil
        } catch {
            return isShared ? nil : WriteOutcome(id: 0, result: .failure(error), cursor: state.cursor)
        }
    }

    /// Returns a decision if no other is kept: they take much memory, and the writer needs one at a time.
    private func keep(_ write: PreparedWrite) -> PreparedWrite? {
        let other = prepared.withLock { prepared in
            let other = prepared.write
            if other == nil { prepared.write = write }
            return other
        }
        return other == nil ? write : nil
    }

    private struct Prepared {
        weak var write: PreparedWrite?
    }

    /// The limits of the writes that are decided from now on.
    package var limitsInForce: WriteLimits {
        get { limits.current }
        set { limits.current = newValue }
    }

    /// True if the writes that wait take longer than some turns, so that callers should send one at a time.
    package var isBusy: Bool { writer.isBusy }

    /// Refuses writes that take long from now on, those that wait included.
    package func stopping() {
        writer.stopping()
    }

    /// Calls the body with the published state once everything queued so far is answered.
    package func whenIdle(_ body: @escaping @Sendable (State) -> Void) {
        writer.whenIdle(body)
    }

    /// Adds a listener, which ``watch(_:)`` subscribes to one publication at a time.
    package func addListener(_ listener: any PublicationListener) -> ListenerID {
        published.addListener(listener)
    }

    package func removeListener(_ id: ListenerID) {
        published.removeListener(id)
    }

    /// Subscribes a listener to the next publication, once, and returns the state before it. Nothing is published in
    /// between, so the listener misses nothing.
    package func watch(_ id: ListenerID) -> State {
        published.watch(id)
    }

    /// Calls the body in the writer's next turn, however many writes wait.
    package func inNextTurn(_ body: @escaping @Sendable () -> Void) {
        writer.inNextTurn(body)
    }

    /// Has the log perform its periodic maintenance, on the writer's queue.
    package func tend() {
        writer.tend()
    }
}

/// A write in the queue of the writer. An object, as it is handed on several times.
package final class PendingWrite: Sendable {
    /// The caller's name for the write.
    package let id: Int
    package let request: WriteRequest
    /// The client whose queue the write waits in if it is long, or turns out to be.
    let client: ClientKey?

    package convenience init(id: Int, request: WriteRequest) { self.init(id: id, request: request, client: nil) }

    package init(id: Int, request: WriteRequest, client: ClientKey?) {
        self.id = id
        self.request = request
        self.client = client
    }
}

/// The outcome of a write: an answer or a problem.
package struct WriteOutcome: Sendable {
    /// The caller's name for the write.
    package var id: Int
    package var result: Result<WriteAnswer, Problem>
    /// The commit that the write made; nil if it made none.
    package var commit: KeptCommit?
    /// The place in history that a refusal was decided at.
    package var cursor: Cursor
    /// Where the time went, if it was much.
    package var times: WriteTimes?

    package init(
        id: Int, result: Result<WriteAnswer, Problem>, commit: KeptCommit? = nil, cursor: Cursor,
        times: WriteTimes? = nil
    ) {
        (self.id, self.result, self.commit, self.cursor, self.times) = (id, result, commit, cursor, times)
    }

    /// True if the write succeeded. Does not copy the answer.
    package var isAnswer: Bool {
        if case .success = result { true } else { false }
    }
}

/// The times that a write took, in nanoseconds.
package struct WriteTimes: Sendable {
    package var waiting: UInt64 = 0
    /// Of all writes that were decided together.
    package var deciding: UInt64 = 0
    package var syncing: UInt64 = 0

    /// The length of a request from which on the log may say what took its time.
    static let much: UInt64 = 5_000_000
}

/// A receiver of the outcomes of writes.
package protocol WriteReplies: AnyObject, Sendable {
    /// Takes outcomes in the order in which the writes were handed over. Runs on the writer's queue; must not block.
    ///
    /// - Parameter replaced: the state before the writes, if the receiver is to release it: what only that state holds is in
    ///   the cache of the receiver's processor. Nil if the caller releases it.
    func deliver(_ outcomes: [WriteOutcome], replaced: State?)
}

/// The limits in force, which a reload replaces.
final class LimitsInForce: Sendable {
    private let limits: Mutex<WriteLimits>

    init(_ limits: WriteLimits) {
        self.limits = Mutex(limits)
    }

    var current: WriteLimits {
        get { limits.withLock { $0 } }
        set { limits.withLock { $0 = newValue } }
    }
}

/// The limits of the queue of writes.
package struct WriteLimits: Sendable {
    /// The bytes of requests that may wait. Others are refused.
    package var waitingBytes = 64 << 20
    /// The most writes that one sync covers.
    package var batchCount = 4096
    /// The most bytes of requests that one sync covers, except that it always covers one request.
    package var batchBytes = 8 << 20
    /// After how many nanoseconds a turn of the writer ends.
    package var turn: UInt64 = 20_000_000
    /// How many nanoseconds a write may wait.
    package var patience: UInt64 = 10_000_000_000
    /// As `patience`, on a log that other daemons share: some of it is left to settle what is decided.
    var sharedPatience: UInt64 { patience / 10 * 9 }
    /// After how many nanoseconds of turns a write that takes long is decided, though others still wait.
    package var longPause: UInt64 = 1_000_000_000
    /// The most keys that one write may change, and that a suite may store when its schema changes.
    package var commitKeys = 100_000
    /// True if a write that stores something creates its suite; else only a schema does.
    package var opensSuites = true
    /// The quotas of what is stored.
    package var quotas = Quotas()

    package init() {}
}
