import Foundation
import SettingsModel
import TestSupport
import Testing

/// The memory of a daemon after bursts of requests. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct MemoryTests {
    /// The resident memory of a process in bytes: the current size (VmRSS) or the maximum (VmHWM).
    private func residentBytes(of process: Substring, _ field: String = "VmRSS:") throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(field) })
        return try #require(Int(line.split(separator: " ")[1])) * 1024
    }

    /// The daemon returns freed memory to the system every four seconds. The second burst usually fits between two of
    /// these times, and reuses memory that the first burst has freed.
    @Test("At least half of the memory that a burst takes returns to the system, also after a second burst")
    func burst() throws {
        let directory = try TemporaryDirectory()
        // The history must not keep the values of the dropped suites in memory.
        let configuration = try directory.file("c", #"{"history":{"bytes":65536,"suiteBytes":0}}"#)
        let daemon = try DaemonProcess(data: directory.path + "/data", options: ["--config", configuration])
        let process = try #require(try daemon.process.line(containing: ", process ").split(separator: " ").last)
        let before = try residentBytes(of: process)
        let peers = try (0..<8).map { _ in try RawClient(port: daemon.port) }
        try peers[0].send(Request("PUT app/keys/a 1").bytes)
        let tag = try #require(try peers[0].readResponse().field("ETag"))
        for _ in 0..<2 {
            try sendBurst(peers)
            let full = try residentBytes(of: process, "VmHWM:")
            var current = try residentBytes(of: process)
            // The read waits for a second, which gives the daemon time to return memory.
            for _ in 0..<60 where current - before > (full - before) / 2 {
                try peers[0].send(Request("GET app/keys/a?wait=1", "If-None-Match: \(tag)").bytes)
                _ = try peers[0].readResponse()
                current = try residentBytes(of: process)
            }
            #expect(
                current - before <= (full - before) / 2,
                "\(before) bytes before the burst, at most \(full) during it, \(current) later")
        }
        try daemon.stop()
    }

    /// Fills one suite over each connection at the same time, and then drops the suites.
    private func sendBurst(_ peers: [RawClient]) throws {
        let body = (0..<8000).map { "\"k\($0)\":{\"a\":[1,2,3,4,5],\"b\":\"\(String(repeating: "x", count: 40))\"}" }
        let requests = peers.indices.map { Request("PUT s\($0) {\(body.joined(separator: ","))}") }
        for (peer, request) in zip(peers, requests) { try peer.send(request.bytes) }
        for (peer, request) in zip(peers, requests) {
            var answer = try peer.readResponse()
            try eventually {
                // On a busy machine, a write can wait in the queue until its timeout. The daemon then answers 503.
                if answer.status == 503 { answer = try peer.ask(request) }
                return answer.status != 503
            }
            #expect(answer.status == 200)
        }
        for (number, peer) in peers.enumerated() {
            #expect(try peer.ask(Request("DELETE s\(number)?drop")).status == 200)
        }
    }
}

/// A daemon process with more connections than its limit of open files.
@Suite(.ownThread, .serialized)
struct OpenFileLimitTests {
    /// Three fixed limits, and one random limit for each 2,000 rounds in `FUZZ_ITERATIONS` beyond 2,000. A random limit
    /// is at most the limit in the systemd unit, or less if the test itself may not open so many connections. The
    /// test leaves 4096 open files to other tests.
    static let limits: [Int] = {
        var own = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &own)
        let most = max(2048, min(65_536, Int(clamping: own.rlim_max) - 4096))
        let random = FuzzBudget.generators(roundsFactor: 0.0005).dropFirst().map { random in
            var random = random
            return Int(exp(Double.random(in: log(64)...log(Double(most)), using: &random)))
        }
        return [64, 80, 1024] + random
    }()

    @Test(
        "A daemon with more clients than its limit of open files serves requests, writes snapshots and stops",
        arguments: limits)
    func manyClients(limit: Int) throws {
        let directory = try TemporaryDirectory()
        let socket = "\(directory.path)/socket"
        // The journal is full after a few commits, so the daemon often writes a snapshot and starts a new journal.
        let file = try directory.file(
            "settingsd.json",
            #"{"listen":"unix:\#(socket)","snapshot":{"journalBytes":1024},"limits":{"lingerSeconds":60}}"#)
        let daemon = try ChildProcess(
            ["-c", #"\#(Self.closeInherited) ulimit -n "$0" && exec "$@""#, "\(limit)", ChildProcess.daemonPath]
                + ["--config", file, "--data", "\(directory.path)/data"], of: "/bin/bash")
        _ = try daemon.line(containing: "listening on unix:")
        let address = RawAddress.unix(socket)
        let first = try RawClient(address)
        try write(0, over: first)

        var clients: [RawClient] = []
        // The option `limits.connections` is 20,000 by default.
        for number in 1...(min(limit, 20_000) + 300) {
            clients.append(try RawClient(address))
            if number % 100 == 0 { try write(number, over: first) }
        }
        // After the refusals, the daemon still writes.
        for number in 1...20 { try write(-number, over: first) }

        let refusedIndex = try #require(RawClient.indicesOfReadable(among: clients).first)
        #expect(try clients[refusedIndex].readResponse().json?["code"] == "too_many_connections")
        // A stop waits for refused clients that do not close, so the test closes all clients.
        clients = []
        #expect(try first.ask("GET /readyz").status == 200)
        daemon.signal(SIGTERM)
        let end = try daemon.end()
        #expect(end.code == 0, "\(end.errors)")
        let problems = end.errors.split(separator: "\n").filter { $0.contains("warning") || $0.contains("error") }
        #expect(problems.isEmpty)
    }

    /// Closes the files of other tests that the child may have inherited.
    private static let closeInherited =
        "for file in /proc/$$/fd/*; do n=${file##*/}; if (( n > 2 )); then exec {n}>&-; fi; done;"

    private func write(_ number: Int, over peer: RawClient) throws {
        let answer = try peer.ask(Request("PUT app/keys/a \"\(number) \(String(repeating: "x", count: 200))\""))
        #expect(answer.status < 300, "\(answer.text)")
    }

    @Test("A daemon whose limit of open files is too low for itself ends with an error that names the limit")
    func tooFew() throws {
        let directory = try TemporaryDirectory()
        let end = try ChildProcess(
            [
                "-c", #"ulimit -n 32 && exec "$0" --listen 127.0.0.1:0 --data "$1""#, ChildProcess.daemonPath,
                directory.path,
            ],
            of: "/bin/sh"
        ).end()
        #expect(end.code == 70, "the exit code is \(end.code), not 70 (an unexpected failure)")
        #expect(end.errors.contains("the limit of open files is 32"), "\(end.errors)")
    }
}
