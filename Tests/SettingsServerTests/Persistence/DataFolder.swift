import Platform
import SettingsAPI
import SettingsEngine
import SettingsStorage
import TestSupport
import Testing

/// A data directory on a simulated disk with the files of a log.
final class DataFolder {
    private let disk = SimulatedDisk()
    private let clock = ManualClock()
    private var epochs = 0
    /// The interval between snapshots in nanoseconds.
    private static let snapshotInterval: UInt64 = 300_000_000_000

    var directory: DataDirectory { DataDirectory("/data", in: disk) }

    var names: [String] { disk.names }

    func read(_ name: String) throws -> [UInt8] {
        try #require(disk.content(name))
    }

    func write(_ name: String, _ bytes: some Sequence<UInt8>) {
        disk.put(name, Array(bytes))
    }

    func edit(_ name: String, _ body: (inout [UInt8]) throws -> Void) throws {
        var bytes = try read(name)
        try body(&bytes)
        write(name, bytes)
    }

    func remove(_ name: String) {
        disk.put(name, nil)
    }

    /// The contents of all files by name, without the file `LOCK`, which each start writes, and without the file
    /// `NEWEST`, which is written again with each new journal.
    func contents() throws -> [String: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: try names.filter { !["LOCK", "NEWEST"].contains($0) }.map { ($0, try read($0)) })
    }

    /// Opens the directory, as a start of the daemon does.
    func open(_ durability: Durability = .always) throws(RecoveryError) -> (Recovery, LocalLog) {
        var options = LocalLog.Options(durability: durability)
        options.snapshotInterval = Self.snapshotInterval
        options.runsSynchronously = true
        return try LocalLog.open(
            directory, options: options, limits: History.Limits(), log: LogHarness.quiet, newEpoch: newEpoch,
            clock: clock.clock.now)
    }

    func newEpoch() -> Epoch {
        epochs += 1
        guard let epoch = Epoch("epoch\(epochs)") else { preconditionFailure("the name of the epoch is invalid") }
        return epoch
    }

    /// Fills the directory with the commits 1 to 12, each in its own flush, and with snapshots at the revisions 4 and
    /// 8. Then simulates a crash, or a clean stop if `stopsCleanly` is true. `journal-8.jsonl` has the commits 9 to 12,
    /// one per line.
    ///
    /// - Returns: the states by revision.
    func fill(_ durability: Durability = .always, stopsCleanly: Bool = false) throws -> [Int64: State] {
        let (recovered, log) = try open(durability)
        var state = recovered.state
        var states = [state.revision.number: state]
        var commits = RandomCommits(seed: 12, hasDeadlines: false)
        for number in 1...12 {
            let revision = try #require(state.revision.advanced(by: 1))
            let commit = try commits.next(on: state, revision: revision)
            log.stage(RetainedCommit(commit), after: state.revision)
            try state.apply(commit)
            try log.flush()
            log.recordPublication(of: state)
            states[revision.number] = state
            if number == 4 || number == 8 {
                // A snapshot is now due.
                clock.advance(nanoseconds: Self.snapshotInterval)
                log.performMaintenance()
            }
        }
        if stopsCleanly { try log.close() }
        // Removes the preallocated zeros, so that the test cases find the end of the data at the end of the file.
        for name in names where name.hasPrefix("journal-") {
            try edit(name) { $0.removeSubrange((($0.lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1)...) }
        }
        return states
    }
}
