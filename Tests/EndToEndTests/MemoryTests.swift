import Foundation
import TestSupport
import Testing

/// What a daemon takes of the machine's memory.
@Suite(.ownThread)
struct MemoryTests {
    /// What a process has in memory, in bytes.
    private func resident(_ process: Substring) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.split(separator: " ")[1])) * 1024
    }

    @Test("What a burst has taken and freed goes back to the system")
    func burst() throws {
        let directory = try TemporaryDirectory()
        let configuration = try directory.file("c", #"{"history":{"bytes":65536,"suiteBytes":0}}"#)
        let daemon = try DaemonProcess(data: directory.path + "/data", options: ["--config", configuration])
        let process = try #require(try daemon.process.line(containing: ", process ").split(separator: " ").last)
        let before = try resident(process)
        let body = (0..<8000).map { "\"k\($0)\":{\"a\":[1,2,3,4,5],\"b\":\"\(String(repeating: "x", count: 40))\"}" }
        let peers = try (0..<8).map { _ in try RawClient(port: daemon.port) }
        for (number, peer) in peers.enumerated() {
            try peer.send(Request("PUT s\(number) {\(body.joined(separator: ","))}").bytes)
        }
        for peer in peers { #expect(try peer.readResponse().status == 200) }
        for (number, peer) in peers.enumerated() {
            try peer.send(Request("DELETE s\(number)?drop").bytes)
            #expect(try peer.readResponse().status == 200)
        }
        let full = try resident(process)
        var left = full
        try peers[0].send(Request("PUT app/keys/a 1").bytes)
        let tag = try #require(try peers[0].readResponse().field("ETag"))
        // Each of these takes a second.
        for _ in 0..<60 where left - before > (full - before) / 2 {
            try peers[0].send(Request("GET app/keys/a?wait=1", "If-None-Match: \(tag)").bytes)
            _ = try peers[0].readResponse()
            left = try resident(process)
        }
        #expect(left - before <= (full - before) / 2, "\(before) bytes before, \(full) after the burst, then \(left)")
        try daemon.stop()
    }
}
