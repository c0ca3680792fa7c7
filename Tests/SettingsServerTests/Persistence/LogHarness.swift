import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import Synchronization
import TestSupport
import Testing

/// The bytes that a log charges for commits on their way to past files.
final class PastCharge: Sendable {
    let bytes = Mutex(0)
}

/// Plays the writer over a log on a simulated disk, and remembers what was acknowledged.
final class LogHarness {
    /// How a log is run.
    struct Setup {
        var durability = Durability.always
        var journalBytes = 900
        var history = History.Limits()
        var suites = ["app", "editor", "net"]
        /// How many batches there are before the stop.
        var steps = 6
    }

    let disk: SimulatedDisk
    var setup: Setup
    private var commits: RandomCommits
    private(set) var log: LocalLog?
    private(set) var recovered: Recovery?
    private var state: State
    /// The last revision that was given out.
    private var issued = Revision.zero
    /// The states that were published, oldest first.
    private(set) var published: [State] = []
    /// The states after each commit that was acknowledged.
    private(set) var acknowledged: [State] = []
    /// The states after each commit whose outcome is unknown, until another is acknowledged.
    private(set) var possible: [State] = []
    /// The commits that were acknowledged, by epoch and revision.
    private(set) var known: [String: String] = [:]
    private(set) var isStopped = false
    /// True if a stop was tried, after which the log takes nothing any more.
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

    static let quiet = Log(level: .error, clock: { Timestamp(milliseconds: 0) }, write: { _ in })

    /// Opens the directory, as a daemon does that starts.
    func open() throws(RecoveryError) {
        var options = LocalLog.Options(durability: setup.durability)
        options.snapshotJournalBytes = setup.journalBytes
        options.syncInterval = 3
        options.runsInline = true
        options.chargePast = { [pastCharge] bytes in pastCharge.bytes.withLock { $0 = bytes } }
        log = nil
        let (recovered, log) = try LocalLog.open(
            DataDirectory("/data", in: disk), options: options, limits: setup.history, log: Self.quiet,
            newEpoch: newEpoch,
            clock: clock.clock.now)
        self.recovered = recovered
        self.log = log
        state = recovered.state
        issued = state.revision
        isStopped = false
        wasClosed = false
        note(state)
        possible = []
    }

    private func newEpoch() -> Epoch {
        epochs += 1
        return Epoch("epoch\(epochs)x\(disk.calls)") ?? state.epoch
    }

    private func note(_ state: State) {
        published.append(state)
        acknowledged.append(state)
    }

    var last: State? { published.last }

    /// Decides, flushes and publishes a batch, or takes what comes of it.
    func step() throws {
        guard let log else { return }
        clock.advance(nanoseconds: 1)
        var staged = state
        var between: [State] = []
        var batch: [Commit] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            issued = try #require(issued.advanced(by: 1))
            let commit = try commits.next(on: staged, revision: issued)
            log.stage(RetainedCommit(commit), after: staged.revision)
            try staged.apply(commit)
            between.append(staged)
            batch.append(commit)
        }
        do throws(CommitLogError) {
            try log.flush()
            state = staged
            log.published(staged)
            acknowledged += between
            published.append(staged)
            possible = []
            for commit in batch {
                let name = "\(state.epoch).\(commit.revision)"
                let text = commit.jsonText()
                #expect(known[name] == nil, "revision \(name) was given out twice")
                known[name] = text
            }
        } catch {
            // Without power the outcome is unknown, whatever the log says.
            if error.outcome == .unknown || disk.isDown { possible += between }
        }
        if commits.chance(30) { log.performMaintenance() }
    }

    private var random: SeededGenerator {
        get { commits.random }
        set { commits.random = newValue }
    }

    /// Sets the clock of the machine ahead, or back.
    func shiftClock(by milliseconds: Int64) {
        commits.clock += milliseconds
    }

    /// Lets time pass without a write.
    func performMaintenance(after time: UInt64 = 0) {
        clock.advance(nanoseconds: time)
        log?.performMaintenance()
    }

    /// Runs from the start to a clean stop, as far as it goes; if so wished, until the outcome of a batch is unknown.
    func run(whileUnknown goesOn: Bool = true, closes: Bool = true) throws {
        do {
            try open()
        } catch {
            return
        }
        for _ in 0..<setup.steps where !disk.isDown {
            try step()
            if !goesOn && !possible.isEmpty { return }
        }
        guard closes, !disk.isFailing else { return }
        do throws(FileError) {
            try close()
        } catch {
            isStopped = false
        }
    }

    /// Stops as a daemon does.
    func close(within bound: UInt64 = .max) throws(FileError) {
        wasClosed = true
        try log?.close(within: bound)
        isStopped = log != nil
    }

    /// True if a write is taken now that nothing goes wrong any more, without a restart.
    func worksAgain() throws -> Bool {
        disk.heal()
        performMaintenance(after: 200_000_000_000)
        let count = published.count
        try step()
        return published.count == count + 1 && log?.health == nil
    }

    /// What goes before the next start.
    func crash(_ survival: SimulatedDisk.Survival, seed: UInt64) {
        log = nil
        disk.restart(survival, seed: seed)
    }
}
