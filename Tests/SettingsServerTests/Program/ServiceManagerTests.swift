import Glibc
import Platform
import SettingsAPI
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

@testable import SettingsServer

/// The messages of the daemon to a service manager.
@Suite(.ownThread)
struct ServiceManagerTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func start(
        _ socket: NotifySocket, options: [String] = [], environment: [String] = []
    ) throws -> ChildProcess {
        try ChildProcess(
            ["--listen", "127.0.0.1:0", "--data", directory.path + "/data"] + options,
            environment: ["HOME=/nonexistent", "NOTIFY_SOCKET=\(socket.name)"] + environment)
    }

    @Test(arguments: [false, true])
    func `The daemon reports to the service manager when it serves requests and when it stops`(isAbstract: Bool) throws
    {
        let socket = try NotifySocket(in: isAbstract ? nil : directory)
        let process = try start(socket)
        let ready = try socket.next()
        #expect(ready.first == "READY=1")
        let prefix = "STATUS=serving on http://127.0.0.1:"
        let status = try #require(ready.last)
        #expect(status.hasPrefix(prefix))
        let client = try RawClient(port: try #require(UInt16(status.dropFirst(prefix.count))))
        try client.send("GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try client.readResponse().status == 200)
        process.signal(SIGTERM)
        #expect(try socket.next() == ["STOPPING=1", "STATUS=stopping"])
        #expect(try process.end().code == 0)
    }

    @Test("The daemon reports the start of a reload with its time, and the end of the reload with the result")
    func reload() throws {
        let file = try directory.file("settingsd.json", "{}")
        let socket = try NotifySocket(in: directory)
        let process = try start(socket, options: ["--config", file])
        let ready = try socket.next()
        let before = MonotonicClock.system.now() / 1000
        process.signal(SIGHUP)
        let reloading = try socket.next()
        #expect(reloading.first == "RELOADING=1")
        let time = reloading.first { $0.hasPrefix("MONOTONIC_USEC=") }?.split(separator: "=").last
        #expect(try #require(time.flatMap { UInt64($0) }) >= before)
        #expect(try socket.next() == ready)
        // No option has the name `lop`, so the reload fails.
        _ = try directory.file("settingsd.json", #"{"lop":1}"#)
        process.signal(SIGHUP)
        #expect(try socket.next().first == "RELOADING=1")
        let failed = try socket.next()
        #expect(failed.first == "READY=1")
        #expect(failed.last?.hasPrefix("\(try #require(ready.last)); the last reload failed: ") == true)
    }

    @Test("After the report of its stop, the daemon reports no reload, but still feeds the watchdog")
    func afterStopping() throws {
        let socket = try NotifySocket(in: directory)
        let log = Log(level: .error, clock: { Timestamp.now() }, write: { _ in })
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": socket.name], process: 7, log: log))
        manager.reportReloading()
        manager.reportStopping()
        manager.reportReady(on: [])
        manager.reportReloading()
        manager.feedWatchdog()
        #expect(try socket.next().first == "RELOADING=1")
        #expect(try socket.next() == ["STOPPING=1", "STATUS=stopping"])
        #expect(try socket.next() == ["WATCHDOG=1"])
    }

    @Test("The daemon feeds the watchdog repeatedly")
    func watchdog() throws {
        let socket = try NotifySocket(in: directory)
        let process = try start(socket, environment: ["WATCHDOG_USEC=200000"])
        for _ in 0..<4 { #expect(try socket.next(withFirstLine: "WATCHDOG=1") == ["WATCHDOG=1"]) }
        process.signal(SIGTERM)
        #expect(try process.end().code == 0)
    }

    @Test(
        "The daemon feeds no watchdog without a valid interval, and no watchdog of another process",
        arguments: [
            ([:], nil), (["WATCHDOG_USEC": "3000000"], 3_000_000_000),
            (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "7"], 3_000_000_000),
            (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "8"], nil), (["WATCHDOG_USEC": "0"], nil),
            (["WATCHDOG_USEC": "soon"], nil),
        ] as [([String: String], UInt64?)])
    func interval(variables: [String: String], nanoseconds: UInt64?) throws {
        // The daemon has the process number 7.
        let log = Log(level: .error, clock: { Timestamp.now() }, write: { _ in })
        let environment = variables.merging(["NOTIFY_SOCKET": "/run/notify"]) { $1 }
        let manager = try #require(ServiceManager(environment: environment, process: 7, log: log))
        #expect(manager.watchdogInterval == nanoseconds)
        #expect(ServiceManager(environment: variables, process: 7, log: log) == nil)
    }
}
