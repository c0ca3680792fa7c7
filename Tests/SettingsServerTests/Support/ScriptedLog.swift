import Dispatch
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import Synchronization
import TestSupport

/// A log that does what a test says: holds a flush until it is let go, or fails it.
final class ScriptedLog: CommitLog {
    private struct Contents {
        var staged: [(commit: Commit, predecessor: Revision)] = []
        var flushed: [[(commit: Commit, predecessor: Revision)]] = []
        var failures: [CommitLogError] = []
        var published: [Revision] = []
        var deadlines: [UInt64] = []
    }

    private let contents = Mutex(Contents())
    private let gate: DispatchSemaphore?
    private let flushing = DispatchSemaphore(value: 0)
    private let failsEach: Int?

    /// - Parameters:
    ///   - isGated: whether each flush waits for a ``letGo()``.
    ///   - flushesAtOnce: whether threads that hand over writes may flush.
    ///   - isShared: whether other daemons add commits.
    ///   - failsEach: which flushes fail, in turns with each outcome: each of so many; nil for none but those of ``failNext``.
    init(isGated: Bool = false, flushesAtOnce: Bool = false, isShared: Bool = false, failsEach: Int? = nil) {
        self.failsEach = failsEach
        self.flushesAtOnce = flushesAtOnce
        self.isShared = isShared
        gate = isGated ? DispatchSemaphore(value: 0) : nil
    }

    func letGo() {
        gate?.signal()
    }

    /// Returns once a flush has begun.
    func awaitFlush() {
        flushing.patientWait()
    }

    /// Makes the next flush fail.
    func failNext(_ outcome: CommitLogError.Outcome, _ cause: CommitLogError.Cause) {
        contents.withLock { $0.failures.append(CommitLogError(outcome, cause, "as the test wants")) }
    }

    /// The commits that each flush made durable.
    var flushes: [[Commit]] { contents.withLock { $0.flushed.map { $0.map(\.commit) } } }
    /// The predecessors that were named for them.
    var predecessors: [Revision] { contents.withLock { $0.flushed.flatMap { $0.map(\.predecessor) } } }
    var published: [Revision] { contents.withLock { $0.published } }

    /// The deadline of each flush.
    var deadlines: [UInt64] { contents.withLock { $0.deadlines } }

    let flushesAtOnce: Bool
    let isShared: Bool

    func stage(_ commit: KeptCommit, after predecessor: Revision) {
        contents.withLock { $0.staged.append((commit.commit, predecessor)) }
    }

    func flush(by deadline: UInt64) throws(CommitLogError) {
        contents.withLock { $0.deadlines.append(deadline) }
        flushing.signal()
        gate?.patientWait()
        let failure = contents.withLock { contents -> CommitLogError? in
            let staged = contents.staged
            contents.staged = []
            if let failsEach, contents.deadlines.count % failsEach == 0 {
                let isUnknown = contents.deadlines.count % (2 * failsEach) == 0
                return CommitLogError(isUnknown ? .unknown : .notDone, .failed, "as the test wants")
            }
            if !contents.failures.isEmpty { return contents.failures.removeFirst() }
            contents.flushed.append(staged)
            return nil
        }
        if let failure { throw failure }
    }

    func tend() {}

    func published(_ state: State, mayWait: Bool) {
        contents.withLock { $0.published.append(state.revision) }
    }
}

extension PendingWrite {
    /// A write of one value in the suite `app`.
    ///
    /// - Parameter isQuick: whether the thread that hands it over may decide it.
    convenience init(
        _ id: Int, _ key: String, _ value: JSONValue, requestKey: String? = nil, guards: [WriteRequest.Guard] = [],
        isQuick: Bool = false
    ) throws {
        let operation = Transaction.Operation(suite: try SuiteName("app"), key: try KeyName(key), .set(value))
        var request = WriteRequest(.setting(operation))
        request.requestKey = requestKey.flatMap { RequestKey($0) }
        request.digest = requestKey.map { _ in "\(key)=\(value)" }
        request.guards = guards
        request.size = 100
        request.isQuick = isQuick
        self.init(id: id, request: request)
    }
}

/// Collects the ends of writes, and lets a test wait for them.
final class CollectedReplies: WriteReplies {
    private let outcomes = Mutex<[WriteOutcome]>([])
    private let states = Mutex<[Revision?]>([])
    private let arrived = DispatchSemaphore(value: 0)

    func deliver(_ outcomes: [WriteOutcome], replaced: State?) {
        self.outcomes.withLock { $0 += outcomes }
        states.withLock { $0.append(replaced?.revision) }
        for _ in outcomes { arrived.signal() }
    }

    /// The numbers of the writes in the order of their ends.
    var order: [Int] { outcomes.withLock { $0.map(\.id) } }

    /// The revisions of the states that came to be released, one for each delivery.
    var replaced: [Revision?] { states.withLock { $0 } }

    /// The ends of so many writes, by their numbers; fewer if they do not come in time.
    func wait(for count: Int) -> [Int: WriteOutcome] {
        for _ in 0..<count where arrived.wait(timeout: .now() + .seconds(20)) == .timedOut { break }
        return Dictionary(outcomes.withLock { $0 }.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    }
}

extension WriteOutcome {
    var setting: SettingState? {
        guard case .success(let answer) = result else { return nil }
        switch answer.body {
        case .setting(let setting): return setting
        case .change(let changes): return changes.first?.settingAfter
        case .summary: return nil
        }
    }

    var problem: Problem? {
        guard case .failure(let problem) = result else { return nil }
        return problem
    }
}
