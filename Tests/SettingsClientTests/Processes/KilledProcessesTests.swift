import Glibc
import SettingsClient
import SettingsHTTP
import TestSupport
import Testing

/// A program that writes settings and the daemon that stores them are killed at random, many times in a row.
///
/// `FUZZ_ITERATIONS=40000` tests 40 seeds with 15 rounds each, instead of one seed. The test case shows its seed. To
/// start with that seed, set `FUZZ_SEED`. The seed determines which process is killed after how many writes, but not
/// the exact moment.
@Suite(.ownThread)
struct KilledProcessesTests {
    private static let rounds = 15
    /// The numbers of writes after which a process is killed. With 0 writes, the program may be killed while it adopts
    /// the outbox files of the killed programs before it.
    private static let writeCounts = [0, 1, 2, 5, 20, 60, 120]

    private let directory: TemporaryDirectory
    private var socket: String { directory.path + "/socket" }

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test(
        "SIGKILL of the program and of the daemon loses no write and keeps the order",
        arguments: FuzzBudget.randomSeeds(roundsFactor: 0.001))
    func randomKills(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var history = WrittenNumbers()
        var daemon: DaemonProcess?
        for round in 0..<Self.rounds {
            if daemon == nil, generator.chance(oneIn: 2) { daemon = try startDaemon() }
            let first = history.next
            // More numbers than the program can write before it is killed.
            let program = try startProgram(first, first + 10_000)
            let writesBeforeKill = generator.pick(Self.writeCounts)
            // The number of writes after which the daemon is killed, or started if it does not run.
            let writesBeforeSwitch = generator.pick(Self.writeCounts)
            if writesBeforeSwitch < writesBeforeKill {
                try wait(program, forWrites: writesBeforeSwitch, from: first)
                if let running = daemon {
                    try running.killAtOnce()
                    daemon = nil
                } else {
                    daemon = try startDaemon()
                }
            }
            try wait(program, forWrites: writesBeforeKill, from: first)
            program.signal(SIGKILL)
            let end = try program.end()
            #expect(end.code == -SIGKILL, "seed \(seed), round \(round): \(end)")
            history.add(end.errors, from: first, isKilled: true)
            #expect(history.failures == [], "seed \(seed), round \(round)")
            guard let running = daemon else { continue }
            let mistakes = try history.mistakes(in: state(of: running))
            #expect(mistakes == [], "seed \(seed), round \(round)")
            if generator.chance(oneIn: 3) {
                try running.killAtOnce()
                daemon = nil
            }
        }
        // A last run of the program sends all writes in the outbox files of the killed programs.
        let lastDaemon = try daemon ?? startDaemon()
        let first = history.next
        let program = try startProgram(first, first + 20)
        let end = try program.end()
        #expect(end.code == 0, "seed \(seed): \(end)")
        history.add(end.errors, from: first, isKilled: false)
        #expect(history.failures == [] && history.areAllConfirmed, "seed \(seed): \(end)")
        let mistakes = try history.mistakes(in: state(of: lastDaemon))
        #expect(mistakes == [], "seed \(seed)")
    }

    /// Waits until the program has printed that its first `count` writes have returned.
    private func wait(_ program: ChildProcess, forWrites count: Int, from first: Int) throws {
        _ = try program.line(containing: count == 0 ? "started" : "wrote \(first + count - 1).")
    }

    private func startDaemon() throws -> DaemonProcess {
        try DaemonProcess(data: directory.path + "/data", options: ["--listen", "unix:\(socket)"])
    }

    /// Starts `outbox-writer` with the numbers from `first` to `last`. In its mixed mode, the program writes with
    /// setters, async methods and transactions.
    private func startProgram(_ first: Int, _ last: Int) throws -> ChildProcess {
        try ChildProcess(
            ["unix:\(socket)", directory.path + "/outbox", "\(first)", "\(last)", "mixed"],
            of: ChildProcess.built("outbox-writer"))
    }

    private func state(of daemon: DaemonProcess) throws -> WrittenNumbers.State {
        let client = try DaemonClient("http://127.0.0.1:\(daemon.port)").blocking
        do {
            return WrittenNumbers.State(try client.send(.suite(SuiteName("app"))).contents)
        } catch let error as SettingsError where error.code == .unknownSuite {
            return WrittenNumbers.State()
        }
    }
}
