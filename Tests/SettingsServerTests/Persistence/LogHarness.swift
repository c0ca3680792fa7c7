import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import Synchronization
import TestSupport
import Testing

/// The memory in bytes that a log charges for commits that the history has evicted, and that stay in memory until they
/// are in a past file.
final class PastCharge: Sendable {
    let bytes = Mutex(0)
}

/// Drives a log on a simulated disk in the way that the write path does, and records the acknowledged commits.
final class LogHarness {
    /// The options of a run.
    struct Setup {
        var durability = Durability.always
        /// The size of the journal at which the log writes a snapshot.
        var journalBytes = 900
        var history = History.Limits()
        var suites = ["app", "editor", "net"]
        /// The number of batches that ``run(endsWhenUnknown:closes:)`` writes before the stop.
        var batchCount = 6
    }

    let disk: SimulatedDisk
    var setup: Setup
    private var commits: RandomCommits
    private(set) var log: LocalLog?
    private(set) var recovered: Recovery?
    /// The state on which the next batch is decided.
    private var state: State
    private var lastUsedRevision = Revision.zero
    /// The published states, oldest first.
    private(set) var published: [State] = []
    /// The states after each acknowledged commit, and the state that each start recovered.
    private(set) var acknowledgedStates: [State] = []
    /// The states after each commit whose outcome is unknown. Emptied when a later commit is acknowledged, and when the
    /// log is opened.
    private(set) var statesWithUnknownOutcome: [State] = []
    /// The acknowledged commits as JSON, by epoch and revision.
    private(set) var acknowledgedTexts: [String: String] = [:]
    /// True after a clean stop.
    private(set) var isStopped = false
    /// True if a stop was attempted, even if it failed. The log accepts no write afterwards.
    private(set) var wasClosed = false
    let pastCharge = PastCharge()
    private let clock = ManualClock()
    private var epochs: UInt64 = 0

    init(_ disk: SimulatedDisk = SimulatedDisk(), _ setup: Setup = Setup(), seed: UInt64) throws {
        self.disk = disk
        self.setup = setup
        commits = RandomCommits(seed: seed)
        commits.suites = setup.suites
        state = State(epoch: try #require(Epoch("none")))
    }

    /// A message log that discards all messages.
    static let quiet = Log(level: .error, clock: { Timestamp(milliseconds: 0) }, write: { _ in })

    /// Opens the directory, as a starting daemon does.
    func open() throws(RecoveryError) {
        var options = LocalLog.Options(durability: setup.durability)
        options.snapshotJournalBytes = setup.journalBytes
        options.syncInterval = 3  // nanoseconds of the manual clock: every third batch
        options.runsSynchronously = true
        options.chargePast = { [pastCharge] bytes in pastCharge.bytes.withLock { $0 = bytes } }
        log = nil
        let (recovered, log) = try LocalLog.open(
            DataDirectory("/data", in: disk), options: options, limits: setup.history, log: Self.quiet,
            newEpoch: newEpoch,
            clock: clock.clock.now)
        self.recovered = recovered
        self.log = log
        state = recovered.state
        lastUsedRevision = state.revision
        isStopped = false
        wasClosed = false
        recordPublished(state)
        statesWithUnknownOutcome = []
    }

    private func newEpoch() -> Epoch {
        epochs += 1
        guard let epoch = Epoch("epoch\(epochs)x\(disk.calls)") else {
            preconditionFailure("the epoch must consist of letters and digits")
        }
        return epoch
    }

    private func recordPublished(_ state: State) {
        published.append(state)
        acknowledgedStates.append(state)
    }

    /// The newest published state.
    var newestState: State? { published.last }

    /// Decides, flushes and publishes a batch of one to three random commits. If the flush fails, handles the failure
    /// as the write path does, without an error.
    func writeBatch() throws {
        guard let log else { return }
        clock.advance(nanoseconds: 1)
        var staged = state
        var statesAfterCommits: [State] = []
        var batch: [Commit] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            lastUsedRevision = try #require(lastUsedRevision.advanced(by: 1))
            let commit = try commits.next(on: staged, revision: lastUsedRevision)
            log.stage(RetainedCommit(commit), after: staged.revision)
            try staged.apply(commit)
            statesAfterCommits.append(staged)
            batch.append(commit)
        }
        do throws(CommitLogError) {
            try log.flush()
            state = staged
            log.recordPublication(of: staged)
            acknowledgedStates += statesAfterCommits
            published.append(staged)
            statesWithUnknownOutcome = []
            for commit in batch {
                let name = "\(state.epoch).\(commit.revision)"
                let text = commit.jsonText()
                #expect(acknowledgedTexts[name] == nil, "revision \(name) was used twice")
                acknowledgedTexts[name] = text
            }
        } catch {
            // After a power loss, the outcome is unknown, even if the error says that the batch is not stored.
            if error.outcome == .unknown || disk.isDown { statesWithUnknownOutcome += statesAfterCommits }
        }
        if commits.chance(percent: 30) { log.performMaintenance() }
    }

    private var random: SeededGenerator {
        get { commits.random }
        set { commits.random = newValue }
    }

    /// Sets the system clock forward or back.
    func shiftClock(by milliseconds: Int64) {
        commits.clock += milliseconds
    }

    /// Performs the periodic maintenance after a time without writes. A snapshot is due 300 seconds after the last
    /// snapshot.
    func performMaintenance(after time: Duration = .zero) {
        clock.advance(nanoseconds: UInt64(time / .nanoseconds(1)))
        log?.performMaintenance()
    }

    /// Runs from the start to a clean stop, or to a power loss.
    ///
    /// - Parameters:
    ///   - endsWhenUnknown: True to end when the outcome of a batch is unknown.
    ///   - closes: False to end without a clean stop.
    func run(endsWhenUnknown: Bool = false, closes: Bool = true) throws {
        do {
            try open()
        } catch {
            return
        }
        for _ in 0..<setup.batchCount where !disk.isDown {
            try writeBatch()
            if endsWhenUnknown && !statesWithUnknownOutcome.isEmpty { return }
        }
        guard closes, !disk.isFailing else { return }
        do throws(FileError) {
            try close()
        } catch {
            isStopped = false
        }
    }

    /// Stops the log, as a stopping daemon does. After these nanoseconds, the log stops writing past files and the last
    /// snapshot.
    func close(within nanoseconds: UInt64 = .max) throws(FileError) {
        wasClosed = true
        try log?.close(within: nanoseconds)
        isStopped = log != nil
    }

    /// Returns true if the log accepts a write after the faults have ended, without a restart.
    func acceptsWriteAfterHealing() throws -> Bool {
        disk.heal()
        // After failures, the log delays the next attempt to write a snapshot by at most 64 s.
        performMaintenance(after: .seconds(200))
        let count = published.count
        try writeBatch()
        return published.count == count + 1 && log?.writeFailureReason == nil
    }

    /// Simulates a crash: determines which data survives for the next start. With `some`, the seed determines this
    /// data.
    func crash(_ survival: SimulatedDisk.Survival, seed: UInt64 = 0) {
        log = nil
        disk.restart(survival, seed: seed)
    }
}
