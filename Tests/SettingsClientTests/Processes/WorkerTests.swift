import SettingsClient
import SettingsHTTP
import TestSupport
import Testing

/// Several processes of `settings-worker` (`Tests/SettingsWorker`) that use one suite over TCP.
@Suite(.ownThread)
struct WorkerTests {
    private let directory: TemporaryDirectory
    private let daemon: DaemonProcess
    private let suite: SuiteName
    private let client: DaemonClient.Blocking

    init() throws {
        directory = try TemporaryDirectory()
        // These tests do not check durability. With `snapshot`, no write waits for the disk, so the tests are faster.
        daemon = try DaemonProcess(data: directory.path + "/data", options: ["--durability", "snapshot"])
        suite = try SuiteName("worker")
        client = try DaemonClient("http://127.0.0.1:\(daemon.port)").blocking
    }

    private func start(_ arguments: String...) throws -> ChildProcess {
        let environment = ["HOME=\(directory.path)", "SETTINGS_URL=http://127.0.0.1:\(daemon.port)"]
        return try ChildProcess(arguments, environment: environment, of: ChildProcess.built("settings-worker"))
    }

    private func value(_ key: String) throws -> JSONValue? {
        try client.send(.setting(KeyName(key), in: suite)).value
    }

    /// Waits until all workers are ready, starts the phase `working`, and calls `waitForWorkers`.
    private func work(_ workers: [ChildProcess], until waitForWorkers: () throws -> Void = {}) throws {
        for worker in workers { _ = try worker.line(containing: "ready", seconds: 120) }
        try client.send(.set(KeyName("phase"), to: "working", in: suite))
        try waitForWorkers()
    }

    /// Waits until a worker ends. Returns the two numbers that the worker has printed: the number of its increments and
    /// the number of conflicts among them.
    private func counts(_ worker: ChildProcess) throws -> (times: Int, conflicts: Int) {
        let end = try worker.end(seconds: 300)
        let counts = end.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        try #require(end.code == 0 && counts.count == 2, "\(end)")
        // The worker prints further lines only for issues that are not conflicts.
        let lines = Set(end.errors.split(separator: "\n"))
        #expect(lines.subtracting(["ready", "met"]).isEmpty, "\(lines)")
        return (counts[0], counts[1])
    }

    @Test("Three processes that add to a sum lose no addition")
    func sum() throws {
        let workers = try (0..<3).map { _ in try start("sum", "500") }
        try work(workers)
        for worker in workers {
            let (times, conflicts) = try counts(worker)
            #expect(times == 500 && conflicts == 0)
        }
        #expect(try value("sum") == 1500)
    }

    @Test("If two processes increment a key without a merge rule, each increment is done or reported as a conflict")
    func conflicts() throws {
        let workers = try (0..<2).map { _ in try start("count") }
        try work(workers) {
            // A worker prints "met" after at least 300 increments and one issue, which has to be a conflict.
            for worker in workers { _ = try worker.line(containing: "met", seconds: 300) }
        }
        try client.send(.set(KeyName("phase"), to: "done", in: suite))
        let ends = try workers.map { try counts($0) }
        let (times, conflicts) = (ends.reduce(0) { $0 + $1.times }, ends.reduce(0) { $0 + $1.conflicts })
        #expect(ends.allSatisfy { $0.times >= 300 && $0.conflicts > 0 })
        #expect(conflicts < times)
        #expect(try value("count") == .integer(Int64(times - conflicts)))
    }

    @Test("A value that a process stores directly before it ends is not lost")
    func endedProcess() throws {
        for number in 0..<20 {
            let end = try start("text", "value \(number)").end(seconds: 120)
            #expect(end == ChildProcess.End(code: 0, output: "", errors: ""))
            #expect(try value("text") == .string("value \(number)"))
        }
    }
}
