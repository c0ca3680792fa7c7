import Foundation
import SettingsModel
import TestSupport
import Testing

/// More connections than there may be files open, to the real program.
@Suite(.ownThread, .serialized)
struct OpenFileLimitTests {
    /// Some limits, and with `FUZZ_ITERATIONS` one more for each thousand: up to that of the unit file, as far as the test
    /// may have so many connections itself.
    static let limits: [Int] = {
        var own = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &own)
        let most = max(2048, min(65_536, Int(clamping: own.rlim_max) - 4096))
        let random = FuzzBudget.generators(share: 0.001).dropFirst().map { random in
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

        let refused = try #require(RawClient.withNews(among: held).first.map { held[$0] })
        #expect(try refused.readResponse().json?["code"] == "too_many_connections")
        held = []
        try first.send(Request("GET /readyz").bytes)
        #expect(try first.readResponse().status == 200)
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
        try peer.send(Request("PUT app/keys/a \"\(number) \(String(repeating: "x", count: 200))\"").bytes)
        let answer = try peer.readResponse()
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
        #expect(end.errors.contains("only 32 files may be open"), "\(end.errors)")
    }
}
