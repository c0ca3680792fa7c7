import Foundation
import SettingsModel
import TestSupport
import Testing

/// What a daemon takes of the machine's memory.
@Suite(.ownThread)
struct MemoryTests {
    /// What a process has in memory, now or at most so far, in bytes.
    private func resident(_ process: Substring, _ field: String = "VmRSS:") throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(field) })
        return try #require(Int(line.split(separator: " ")[1])) * 1024
    }

    /// The second burst takes what the first one has given back, most times between two looks of the daemon.
    @Test("What a burst has taken and freed goes back to the system, and again after a second one")
    func burst() throws {
        let directory = try TemporaryDirectory()
        let configuration = try directory.file("c", #"{"history":{"bytes":65536,"suiteBytes":0}}"#)
        let daemon = try DaemonProcess(data: directory.path + "/data", options: ["--config", configuration])
        let process = try #require(try daemon.process.line(containing: ", process ").split(separator: " ").last)
        let before = try resident(process)
        let peers = try (0..<8).map { _ in try RawClient(port: daemon.port) }
        try peers[0].send(Request("PUT app/keys/a 1").bytes)
        let tag = try #require(try peers[0].readResponse().field("ETag"))
        for _ in 0..<2 {
            try burst(peers)
            let full = try resident(process, "VmHWM:")
            var left = try resident(process)
            // Each of these takes a second.
            for _ in 0..<60 where left - before > (full - before) / 2 {
                try peers[0].send(Request("GET app/keys/a?wait=1", "If-None-Match: \(tag)").bytes)
                _ = try peers[0].readResponse()
                left = try resident(process)
            }
            #expect(
                left - before <= (full - before) / 2, "\(before) bytes before, \(full) after the burst, then \(left)")
        }
        try daemon.stop()
    }

    /// Fills a suite over each connection, all at once, and drops them.
    private func burst(_ peers: [RawClient]) throws {
        let body = (0..<8000).map { "\"k\($0)\":{\"a\":[1,2,3,4,5],\"b\":\"\(String(repeating: "x", count: 40))\"}" }
        let requests = peers.indices.map { Request("PUT s\($0) {\(body.joined(separator: ","))}") }
        for (peer, request) in zip(peers, requests) { try peer.send(request.bytes) }
        for (peer, request) in zip(peers, requests) {
            var answer = try peer.readResponse()
            try eventually {
                // Where the machine is busy, one may wait too long behind the others.
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

/// More connections than there may be files open, to the real program.
@Suite(.ownThread, .serialized)
struct OpenFileLimitTests {
    /// Some limits, and with `FUZZ_ITERATIONS` one more for each two thousand beyond the usual: up to that of the unit file,
    /// as far as the test may have so many connections itself.
    static let limits: [Int] = {
        var own = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &own)
        let most = max(2048, min(65_536, Int(clamping: own.rlim_max) - 4096))
        let random = FuzzBudget.generators(share: 0.0005).dropFirst().map { random in
            var random = random
            return Int(exp(Double.random(in: log(64)...log(Double(most)), using: &random)))
        }
        return [64, 80, 1024] + random
    }()

    @Test(
        "a daemon that more peers connect to than it may open files serves, writes snapshots and stops",
        arguments: limits)
    func strangers(limit: Int) throws {
        let directory = try TemporaryDirectory()
        let socket = "\(directory.path)/socket"
        // Each few commits the journal is full: then a snapshot is written and a journal begun.
        let file = try directory.file(
            "settingsd.json",
            #"{"listen":"unix:\#(socket)","snapshot":{"journalBytes":1024},"limits":{"lingerSeconds":60}}"#)
        let daemon = try ChildProcess(
            ["-c", #"\#(Self.closeInherited) ulimit -n "$0" && exec "$@""#, "\(limit)", ChildProcess.program]
                + ["--config", file, "--data", "\(directory.path)/data"], of: "/bin/bash")
        _ = try daemon.line(containing: "listening on unix:")
        let address = RawAddress.unix(socket)
        let first = try RawClient(address)
        try write(0, first)

        var held: [RawClient] = []
        for number in 1...(min(limit, 20_000) + 300) {
            held.append(try RawClient(address))
            if number % 100 == 0 { try write(number, first) }
        }
        for number in 1...20 { try write(-number, first) }

        let refused = try #require(RawClient.withNews(among: held).first)
        #expect(try held[refused].readResponse().json?["code"] == "too_many_connections")
        // All of them: for a refused peer that does not close, a stop would wait for all its time.
        held = []
        #expect(try first.ask("GET /readyz").status == 200)
        daemon.signal(SIGTERM)
        let end = try daemon.end()
        #expect(end.code == 0, "\(end.errors)")
        let complaints = end.errors.split(separator: "\n").filter { $0.contains("warning") || $0.contains("error") }
        #expect(complaints.isEmpty)
    }

    /// Other tests have files open at the same moment, which a child inherits.
    private static let closeInherited =
        "for file in /proc/$$/fd/*; do n=${file##*/}; if (( n > 2 )); then exec {n}>&-; fi; done;"

    private func write(_ number: Int, _ peer: RawClient) throws {
        let answer = try peer.ask(Request("PUT app/keys/a \"\(number) \(String(repeating: "x", count: 200))\""))
        #expect(answer.status < 300, "\(answer.text)")
    }

    @Test("a daemon that may open too few files for itself says how many it needs")
    func tooFew() throws {
        let directory = try TemporaryDirectory()
        let end = try ChildProcess(
            [
                "-c", #"ulimit -n 32 && exec "$0" --listen 127.0.0.1:0 --data "$1""#, ChildProcess.program,
                directory.path,
            ],
            of: "/bin/sh"
        ).end()
        #expect(end.code == 70)
        #expect(end.errors.contains("the limit of open files is 32"), "\(end.errors)")
    }
}
