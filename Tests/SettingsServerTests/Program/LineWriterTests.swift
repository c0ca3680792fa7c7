import Glibc
import Platform
import SettingsStorage
import TestSupport
import Testing

/// A `LineWriter` writes lines to a descriptor in the background, and drops lines for which its buffer has no room.
@Suite(.ownThread)
struct LineWriterTests {
    private static let line = Array((String(repeating: "x", count: 99) + "\n").utf8)

    /// A pipe that is filled with lines, so that a further write blocks or fails until the test reads from the pipe.
    private final class FullPipe {
        /// The end from which the test reads.
        let output: Int32
        /// The end to which the writer writes.
        let input: Int32
        /// The number of lines in the pipe.
        private(set) var lineCount = 0

        /// - Parameter flags: the flags of the write end.
        init(flags: Int32 = 0) throws {
            var ends: [Int32] = [-1, -1]
            try ChildProcess.whileNoChildStarts {
                try #require(pipe(&ends) == 0)
                for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            }
            (output, input) = (ends[0], ends[1])
            for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
            while write(input, line, line.count) == line.count { lineCount += 1 }
            // Fills the remaining capacity of the pipe.
            while write(input, "\n", 1) == 1 {}
            _ = fcntl(input, F_SETFL, flags)
        }

        deinit {
            close(output)
            close(input)
        }
    }

    /// `delay` is the time for which the writer collects lines before it writes them.
    @Test(
        "A stalled reader blocks no caller, and each line is later written or counted as dropped",
        arguments: [0, O_NONBLOCK], [Duration.zero, .milliseconds(5)])
    func stalledReader(flags: Int32, delay: Duration) throws {
        let pipe = try FullPipe(flags: flags)
        // The writer has room for 16 KiB, and the test appends 100 kB.
        let writer = LineWriter(to: OutputDescriptor(pipe.input), capacity: 16 << 10, delay: delay) {
            "dropped \($0)"
        }
        let appended = 1000
        for _ in 0..<appended { writer.append(Self.line) }
        let dropped = writer.droppedLines
        #expect(dropped > 0 && dropped < appended)
        var received: [UInt8] = []
        try eventually {
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = read(pipe.output, &chunk, chunk.count)
            if count > 0 { received += chunk[..<count] }
            return String(decoding: received, as: UTF8.self).contains("dropped \(dropped)\n")
        }
        writer.flush()
        let lines = received.split(separator: UInt8(ascii: "\n"))
        #expect(lines.count { $0.count == 99 } == pipe.lineCount + appended - dropped)
        #expect(writer.droppedLines == dropped)
    }

    @Test
    func `A daemon whose standard error nobody reads starts, answers and stops`() throws {
        let directory = try TemporaryDirectory()
        let pipe = try FullPipe()
        let socket = directory.path + "/socket"
        let options = ["--listen", "unix:\(socket)", "--data", directory.path + "/data", "--log", "debug"]
        // The child gets the pipe as descriptor 3, which `2>&3` makes its standard error.
        let daemon = try ChildProcess(
            ["-c", "exec \"$0\" \"$@\" 2>&3", ChildProcess.daemonPath] + options, of: "/bin/sh",
            descriptors: [pipe.input])
        try eventually { (try? RawClient(.unix(socket))) != nil }
        let client = try RawClient(.unix(socket))
        for line in ["POST /v1/reload", "GET /v1", "POST /v1/reload", "GET /v1"] {
            try client.send("\(line) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
            #expect(try client.readResponse().status == 200)
        }
        daemon.signal(SIGTERM)
        #expect(try daemon.end().code == 0)
    }

    @Test
    func `An error that ends the start does not wait for a reader of standard error`() throws {
        let pipe = try FullPipe()
        // As above, the descriptor 3 is the pipe.
        let program = try ChildProcess(
            ["-c", "exec \"$0\" --nonsense 2>&3", ChildProcess.daemonPath], of: "/bin/sh", descriptors: [pipe.input])
        #expect(try program.end().code == 64)
    }
}
