import Foundation
import TestSupport
import Testing

/// The examples of the README, run as a reader would run them.
@Suite(.ownThread)
struct ReadmeTests {
    private static let readme = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "README.md")

    /// The blocks for a shell, in their order, each with the paragraph before it.
    private func examples() throws -> [(text: String, commands: String)] {
        let parts = try String(contentsOf: Self.readme, encoding: .utf8).components(separatedBy: "```")
        return stride(from: 1, to: parts.count, by: 2).compactMap { index in
            guard parts[index].hasPrefix("sh\n") else { return nil }
            return (parts[index - 1], String(parts[index].dropFirst(3)))
        }
    }

    @Test("The examples of the README do what it says", .enabled(if: access("/usr/bin/curl", X_OK) == 0))
    func examplesREADMEDoWhat() throws {
        let directory = try TemporaryDirectory()
        let daemon = try DaemonProcess(data: directory.path + "/data")
        let examples = try examples()
        #expect(examples.count == 11)
        for (text, commands) in examples {
            let script = commands.replacing("127.0.0.1:7070", with: "127.0.0.1:\(daemon.port)").replacing(
                "curl", with: "curl -sS")
            let environment = [
                "PATH=\(ChildProcess.built("")):/usr/bin:/bin", "SETTINGS_URL=http://127.0.0.1:\(daemon.port)",
            ]
            let end = try ChildProcess(["-e", "-c", script], environment: environment, of: "/bin/sh").end()
            #expect(end.code == 0, "\(commands)")
            #expect(end.errors == "")
            // Errors have a code.
            #expect(end.output.contains(#""code":"#) == text.contains("Try what it does not allow"), "\(end.output)")
        }
        daemon.process.signal(SIGTERM)
        #expect(try daemon.process.end().code == 0)
    }
}
