import Dispatch
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import Synchronization
import TestSupport
import Testing

/// A commit log that a test controls. The test can block flushes until it calls `releaseFlush`, make flushes fail, and
/// add commits of other daemons.
final class ScriptedLog: CommitLog {
    private struct Contents {
        /// The commits of the next flush, each with the revision of the commit before it.
        var staged: [(commit: Commit, predecessor: Revision)] = []
        var flushed: [[(commit: Commit, predecessor: Revision)]] = []
        var failures: [CommitLogError] = []
        var published: [Revision] = []
        /// The deadline of each flush so far.
        var deadlines: [UInt64] = []
        /// True if the outcome of the last commits is unknown, so that the next batch needs a flush even without
        /// commits.
        var hasUnknownOutcome = false
        /// The value of the property `CommitLog.hasUnresolvedBatch`. Only the test sets this value, independently of
        /// `hasUnknownOutcome`.
        var hasUnresolvedBatch = false
        /// Commits of other daemons that the store has not applied yet.
        var foreign: [Commit] = []
    }

    private let contents = Mutex(Contents())
    /// Each flush waits for a signal; nil if flushes do not wait.
    private let gate: DispatchSemaphore?
    /// Signalled when a flush begins.
    private let flushing = DispatchSemaphore(value: 0)
    private let failsEveryNthFlush: Int?
    private let isShared: Bool

    /// - Parameters:
    ///   - isGated: true if each flush waits for ``releaseFlush()``.
    ///   - isShared: true if other daemons add commits.
    ///   - failsEveryNthFlush: `n` makes every nth flush fail, alternately with the outcomes `notDone` and `unknown`.
    ///     If this is nil, only the flushes fail for which the test has called ``failNextFlush(_:_:)``.
    init(isGated: Bool = false, isShared: Bool = false, failsEveryNthFlush: Int? = nil) {
        self.failsEveryNthFlush = failsEveryNthFlush
        self.isShared = isShared
        gate = isGated ? DispatchSemaphore(value: 0) : nil
    }

    /// Lets one blocked flush continue, or the next flush if no flush is blocked.
    func releaseFlush() {
        gate?.signal()
    }

    /// Waits until a flush has begun. Each start of a flush ends one call, so a second call waits for a second flush.
    func awaitFlushStart() {
        flushing.patientWait()
    }

    /// Makes the next flush fail.
    func failNextFlush(_ outcome: CommitLogError.Outcome, _ cause: CommitLogError.Cause) {
        contents.withLock { $0.failures.append(CommitLogError(outcome, cause, "the test requested this failure")) }
    }

    /// Adds a commit of another daemon.
    func addCommitOfOtherDaemon(_ commit: Commit) {
        contents.withLock { $0.foreign.append(commit) }
    }

    /// Sets whether the outcome of an earlier batch is still unknown.
    func setHasUnresolvedBatch(_ hasUnresolvedBatch: Bool) {
        contents.withLock { $0.hasUnresolvedBatch = hasUnresolvedBatch }
    }

    /// The commits of each successful flush.
    var flushedBatches: [[Commit]] { contents.withLock { $0.flushed.map { $0.map(\.commit) } } }
    /// The revision of the commit before each flushed commit.
    var commitPredecessors: [Revision] { contents.withLock { $0.flushed.flatMap { $0.map(\.predecessor) } } }
    /// The revision of each state that the store has published.
    var publishedRevisions: [Revision] { contents.withLock { $0.published } }
    /// The deadline of each flush.
    var deadlines: [UInt64] { contents.withLock { $0.deadlines } }

    // MARK: CommitLog

    var requiresFlush: Bool { isShared || contents.withLock { $0.hasUnknownOutcome } }
    var maximumBatchesInFlight: Int { isShared ? 1 : 2 }
    var hasUnresolvedBatch: Bool { contents.withLock { $0.hasUnresolvedBatch } }

    func stage(_ commit: RetainedCommit, after predecessor: Revision) {
        contents.withLock { $0.staged.append((commit.commit, predecessor)) }
    }

    func flush(by deadline: UInt64) throws(CommitLogError) {
        contents.withLock { $0.deadlines.append(deadline) }
        flushing.signal()
        gate?.patientWait()
        let failure = contents.withLock { contents -> CommitLogError? in
            let staged = contents.staged
            contents.staged = []
            var failure: CommitLogError?
            if let failsEveryNthFlush, contents.deadlines.count % failsEveryNthFlush == 0 {
                let isUnknown = contents.deadlines.count % (2 * failsEveryNthFlush) == 0
                failure = CommitLogError(isUnknown ? .unknown : .notDone, .failed, "the test requested this failure")
            } else if !contents.failures.isEmpty {
                failure = contents.failures.removeFirst()
            } else {
                contents.flushed.append(staged)
            }
            contents.hasUnknownOutcome = failure.map { $0.outcome == .unknown || contents.hasUnknownOutcome } ?? false
            return failure
        }
        if let failure { throw failure }
    }

    func follow(from state: State) -> FollowedState? {
        let commits = contents.withLock { contents in
            defer { contents.foreign = [] }
            return contents.foreign
        }
        guard !commits.isEmpty else { return nil }
        var followed = FollowedState(state)
        for commit in commits {
            do { try followed.apply(commit) } catch { Issue.record(error) }
        }
        return followed
    }

    func performMaintenance() {}

    func recordPublication(of state: State) {
        contents.withLock { $0.published.append(state.revision) }
    }
}

extension WriteRequest {
    /// Makes a write of one value in the suite `app`.
    static func put(
        _ key: String, _ value: JSONValue, requestKey: String? = nil, guards: [WriteGuard] = []
    ) throws -> WriteRequest {
        let operation = Transaction.Operation(suite: try SuiteName("app"), key: try KeyName(key), .set(value))
        var request = WriteRequest(.setting(operation))
        request.requestKey = requestKey.flatMap { RequestKey($0) }
        // The store refuses a write with a known request key and another digest.
        request.digest = requestKey.map { _ in "\(key)=\(value)" }
        request.guards = guards
        request.size = 100
        return request
    }
}

/// Collects the results of writes. A test can wait for them.
final class CollectedResults: WriteReceiver {
    private let results = Mutex<[WriteResult]>([])
    private let arrived = DispatchSemaphore(value: 0)

    func deliver(_ results: [WriteResult]) {
        self.results.withLock { $0 += results }
        for _ in results { arrived.signal() }
    }

    /// The numbers of the writes in the order of their results.
    var order: [Int] { results.withLock { $0.map(\.id.number) } }

    /// Waits for this number of further results. Returns all results so far by the number of the write, even if the
    /// wait times out.
    func awaitFurther(_ count: Int) -> [Int: WriteResult] {
        for _ in 0..<count where arrived.wait(timeout: .now() + .seconds(20)) == .timedOut { break }
        return Dictionary(results.withLock { $0 }.map { ($0.id.number, $0) }, uniquingKeysWith: { $1 })
    }
}

extension WriteResult {
    /// The setting in the answer to a write of one key; nil if the write was refused.
    var setting: SettingState? {
        guard case .success(let answer) = answer else { return nil }
        switch answer.body {
        case .setting(let setting): return setting
        case .change(let changes): return changes.first?.settingAfter
        case .summary: return nil
        }
    }

    var problem: Problem? {
        guard case .failure(let problem) = answer else { return nil }
        return problem
    }
}

/// Tests identify writes by numbers.
extension WriteID {
    init(_ number: Int) { self.init(low: UInt32(number)) }

    var number: Int { Int(low) }
}
