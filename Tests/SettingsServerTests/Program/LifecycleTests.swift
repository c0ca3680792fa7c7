import Foundation
import HTTPServer
import Platform
import SettingsWeb
import TestSupport
import Testing

/// The daemon as a process: its start, and its reaction to signals. If the daemon ends itself at once because of a
/// signal, its exit code is 128 plus the number of the signal. For SIGKILL, `ChildProcess` returns the negative number.
/// The exit code 69 says that an address is in use, and 75 that the data directory is in use.
@Suite(.ownThread)
struct LifecycleTests {
    /// Starts a daemon, and waits until it listens.
    private func start(
        _ directory: TemporaryDirectory, _ options: [String] = []
    ) throws -> (process: ChildProcess, port: UInt16) {
        let daemon = try DaemonProcess(data: directory.path + "/data", options: options)
        return (daemon.process, daemon.port)
    }

    /// Returns a request with CR LF at the end of each line.
    private func request(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `A signal stops the daemon cleanly, and the next start has all writes`(number: Int32) throws {
        let directory = try TemporaryDirectory()
        let (process, port) = try start(directory)
        let client = try RawClient(port: port)
        try client.send(request("PUT /v1/suites/app/keys/n HTTP/1.1\nHost: localhost\nContent-Length: 2\n\n42"))
        #expect(try client.readResponse().status == 201)
        process.signal(number)
        let end = try process.end()
        #expect(end.code == 0)
        #expect(end.output == "")
        let lines = end.errors.split(separator: "\n")
        #expect(lines.first?.contains(" info settingsd \(Service.version), process ") == true)
        #expect(lines.count { $0.contains("listening on") } == 1)
        #expect(lines.last?.hasSuffix(" info stopped") == true)

        let (restarted, newPort) = try start(directory)
        let reader = try RawClient(port: newPort)
        try reader.send(request("GET /v1/suites/app/keys/n?raw HTTP/1.1\nHost: localhost\n\n"))
        #expect(try reader.readResponse().text == "42")
        restarted.signal(SIGTERM)
        #expect(try restarted.end().code == 0)
    }

    @Test
    func `A daemon warns of each address that is not loopback`() throws {
        let directory = try TemporaryDirectory()
        let socket = "unix:\(directory.path)/socket"
        let (process, _) = try start(directory, ["--listen", "0.0.0.0:0", "--listen", socket, "--open-to-network"])
        process.signal(SIGTERM)
        let end = try process.end()
        let warnings = end.errors.split(separator: "\n").filter { $0.contains(" warning ") }
        // The daemon also listens on 127.0.0.1 and on a Unix socket, about which it does not warn.
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains(" warning 0.0.0.0:") == true)
        #expect(warnings.first?.contains("no access control") == true)
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `A signal during the start is not lost`(number: Int32) throws {
        // Starts many daemons at the same time, so that their threads compete for the processors.
        let directory = try TemporaryDirectory()
        let codes = EventLog()
        for thread in 0..<8 {
            Thread.detachNewThread {
                for round in 0..<8 {
                    let code = Result {
                        let data = "\(directory.path)/\(thread)-\(round)"
                        let process = try ChildProcess(["--listen", "127.0.0.1:0", "--data", data])
                        // Waits for the first line of the log.
                        _ = try process.line(containing: ", process ")
                        process.signal(number)
                        return try process.end().code
                    }
                    codes.add("\(code)")
                }
            }
        }
        #expect(codes.wait { $0.count == 64 })
        #expect(Set(codes.all) == ["success(0)"])
    }

    @Test(arguments: [(SIGTERM, Int32(143)), (SIGINT, Int32(130))])
    func `A second signal ends the daemon at once`(number: Int32, code: Int32) throws {
        let directory = try TemporaryDirectory()
        let (process, port) = try start(directory, ["--config", try directory.file("c", #"{"stopSeconds":600}"#)])
        // The daemon waits for a request that has begun.
        let client = try RawClient(port: port)
        try client.send(
            request("PUT /v1/suites/app/keys/n HTTP/1.1\nHost: localhost\nExpect: 100-continue\nContent-Length: 9\n\n"))
        _ = try client.readResponse()
        process.signal(number)
        _ = try process.line(containing: "a second signal stops it immediately")
        process.signal(number)
        #expect(try process.end().code == code)
    }

    @Test
    func `A clean stop removes a Unix domain socket, and the start after a kill replaces the socket`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/socket"
        let address = "unix:" + path
        for number in [SIGKILL, SIGTERM] {
            let (process, _) = try start(directory, ["--listen", address])
            #expect(try process.line(containing: "listening on unix:").hasSuffix(" info listening on \(address)"))
            let client = try RawClient(.unix(path))
            try client.send(request("GET /healthz HTTP/1.1\nHost: settingsd\n\n"))
            #expect(try client.readResponse().status == 200)
            let second = try ChildProcess.run([
                "--listen", address, "--data", directory.path + "/other", "--log", "error",
            ])
            #expect(second.code == 69)
            #expect(
                second.errors == "settingsd: cannot listen on \(address): another program listens on this socket: "
                    + "find out what uses this path, or choose another path with --listen\n")
            process.signal(number)
            #expect(try process.end().code == (number == SIGKILL ? -SIGKILL : 0))
            #expect((access(path, F_OK) == 0) == (number == SIGKILL))
        }
    }

    @Test
    func `HUP reloads the configuration`() throws {
        let directory = try TemporaryDirectory()
        let (process, port) = try start(directory)
        process.signal(SIGHUP)
        _ = try process.line(containing: "configuration was reloaded")
        let client = try RawClient(port: port)
        try client.send(request("GET /healthz HTTP/1.1\nHost: localhost\n\n"))
        #expect(try client.readResponse().status == 200)
        process.signal(SIGTERM)
        #expect(try process.end().code == 0)
    }

    @Test
    func `HUP before the end of the start causes a reload`() throws {
        let directory = try TemporaryDirectory()
        // The daemon takes some time to read this number of users, so the signal arrives during the start.
        let users = (0..<30_000).map { #""\#($0 + 100_000)":["app:read"]"# }.joined(separator: ",")
        let file = try directory.file("c.json", #"{"access":{"users":{\#(users)}}}"#)
        let process = try ChildProcess(
            ["--config", file, "--listen", "127.0.0.1:0", "--data", directory.path + "/data"])
        // The program first blocks HUP and then ignores USR1, so HUP does not end the process from then on. `SigIgn` is
        // the set of the ignored signals in `/proc`.
        try eventually { try process.has(SIGUSR1, in: "SigIgn") }
        process.signal(SIGHUP)
        _ = try process.line(containing: "configuration was reloaded")
        process.signal(SIGTERM)
        #expect(try process.end().code == 0)
    }

    @Test
    func `A command does not block HUP`() throws {
        // The command waits for a response on the connection.
        let listener = try #require(try Listener.open(.tcp(host: "127.0.0.1", port: 0)).first)
        let process = try ChildProcess(["cluster", "status", "--etcd.endpoints", "http://\(listener.address)"])
        try eventually {
            if case .connection = listener.accept() { true } else { false }
        }
        // `SigBlk` is the set of the blocked signals in `/proc`.
        #expect(try !process.has(SIGHUP, in: "SigBlk"))
    }

    @Test(arguments: [SIGUSR1, SIGUSR2])
    func `An unused signal has no effect`(number: Int32) throws {
        let directory = try TemporaryDirectory()
        let (process, port) = try start(directory)
        process.signal(number)
        let client = try RawClient(port: port)
        try client.send(request("GET /healthz HTTP/1.1\nHost: localhost\n\n"))
        #expect(try client.readResponse().status == 200)
        process.signal(SIGTERM)
        #expect(try process.end().code == 0)
    }

    @Test
    func `QUIT ends the daemon at once without a core dump`() throws {
        let directory = try TemporaryDirectory()
        let (process, _) = try start(directory)
        process.signal(SIGQUIT)
        let end = try process.end()
        #expect(end.code == 131)
        #expect(end.errors.split(separator: "\n").allSatisfy { $0.contains(" info ") }, "\(end.errors)")
    }

    @Test
    func `A second daemon on the same directory refuses to start`() throws {
        let directory = try TemporaryDirectory()
        let (process, _) = try start(directory)
        let second = try ChildProcess.run([
            "--listen", "127.0.0.1:0", "--data", directory.path + "/data", "--log", "error",
        ])
        #expect(second.code == 75)
        #expect(second.errors.hasPrefix("settingsd: \(directory.path)/data is in use by another settingsd"))
        #expect(second.errors.split(separator: "\n").count == 1)
        process.signal(SIGTERM)
        #expect(try process.end().code == 0)
    }

    @Test
    func `The daemon logs the default data directory that it uses`() throws {
        let directory = try TemporaryDirectory()
        let process = try ChildProcess(
            ["--listen", "127.0.0.1:0"], environment: ["STATE_DIRECTORY=\(directory.path)/state"])
        _ = try process.line(containing: "the data directory is \(directory.path)/state, from $STATE_DIRECTORY")
        _ = try process.line(containing: "listening on")
        process.signal(SIGTERM)
        #expect(try process.end().code == 0)
    }
}
