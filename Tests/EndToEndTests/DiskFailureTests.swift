import SettingsModel
import TestSupport
import Testing

/// The answers to writes that the disk does not take.
@Suite(.ownThread)
struct DiskFailureTests {
    @Test("A write that the disk refuses tells the reason to the caller, and the file to the log alone")
    func path() throws {
        let directory = try TemporaryDirectory()
        // A file may not grow to the size of the value: the write of it fails, as on a disk that is full.
        let process = try ChildProcess(
            [
                "-c", #"trap '' XFSZ; ulimit -f 64; exec "$0" "$@""#, ChildProcess.program, "--listen", "127.0.0.1:0",
                "--data", directory.path,
            ], of: "/bin/sh")
        let line = try process.line(containing: "listening on http://127.0.0.1:")
        let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
        let client = try RawClient(port: port)
        let text = String(repeating: "x", count: 200_000)
        try client.send(Request(#"PUT app/keys/a "\#(text)""#).bytes)
        let answer = try client.readResponse()
        #expect(answer.status == 503, "\(answer.text)")
        #expect(answer.json?["outcome"] == "not_done", "\(answer.text)")
        #expect(answer.text.contains("File too large"), "\(answer.text)")
        #expect(!answer.text.contains(directory.path), "\(answer.text)")
        #expect(!answer.text.contains("journal"), "\(answer.text)")
        try client.send(Request("GET /readyz").bytes)
        #expect(try !client.readResponse().text.contains(directory.path))
        #expect(try process.line(containing: "writes fail").contains(directory.path))
    }
}
