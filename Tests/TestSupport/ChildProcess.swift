internal import Foundation
internal import Glibc
internal import Synchronization

/// A program that runs as a child process. The object reads the standard output and the standard error of the child.
/// The waits for output and for the end of the output have limits, so that a test fails instead of hanging. The
/// deinitializer kills a running child.
package final class ChildProcess {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    /// The exit of a child, with its complete output.
    package struct End: Equatable {
        /// The exit code, or the negated number of the signal that ended the child.
        package let code: Int32
        package let output: String
        package let errors: String

        package init(code: Int32, output: String, errors: String) {
            self.code = code
            self.output = output
            self.errors = errors
        }
    }

    private enum Stream { case output, errors }

    private let process: pid_t
    private let output: Int32
    private let errors: Int32
    private var receivedBytes: [Stream: [UInt8]] = [:]
    private var hasEnded: [Stream: Bool] = [:]
    private var isReaped = false

    /// The path of the daemon that was built together with the tests.
    package static let daemonPath = built("settingsd")

    /// Returns the path of a program that was built together with the tests.
    package static func built(_ name: String) -> String {
        folder + name
    }

    /// The folder of the program that runs the tests, with a final slash.
    private static let folder: String = {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { readlink("/proc/self/exe", $0, text.count) } ?? 0
            }
        }
        let path = buffer[..<max(0, count)]
        return String(decoding: path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)], as: UTF8.self) + "/"
    }()

    /// - Parameters:
    ///   - environment: The environment variables. By default the child has no home directory, so that it does not use
    ///     files of the user who runs the tests.
    ///   - descriptors: File descriptors that the child receives, numbered from 3.
    package init(
        _ arguments: [String], environment: [String] = ["HOME=/nonexistent"],
        of program: String = ChildProcess.daemonPath, descriptors: [Int32] = []
    ) throws {
        var pipes: [[Int32]] = [[-1, -1], [-1, -1]]
        for index in pipes.indices {
            // Socket pairs are created with close-on-exec, so a child that another test starts at the same moment does
            // not inherit them.
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            guard socketpair(AF_UNIX, type, 0, &pipes[index]) == 0 else {
                throw Failure(description: "socketpair: error \(errno)")
            }
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, pipes[0][1], STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, pipes[1][1], STDERR_FILENO)
        // The copies have numbers above the child's descriptors, so that no copy overwrites another descriptor.
        let copies = descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, 100) }
        for (index, copy) in copies.enumerated() { posix_spawn_file_actions_adddup2(&actions, copy, 3 + Int32(index)) }
        defer { for copy in copies { close(copy) } }
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for text in words + variables { free(text) } }
        // Without these attributes, the child would inherit ignored signals from the shell that runs the tests, and
        // blocked signals from the threads of Dispatch.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2] { sigaddset(&defaults, signal) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        var blocked = sigset_t()
        sigemptyset(&blocked)
        posix_spawnattr_setsigmask(&attributes, &blocked)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        var child: pid_t = 0
        let result = Self.starting.withLock { _ in
            posix_spawn(&child, program, &actions, &attributes, &words, &variables)
        }
        for pipe in pipes { close(pipe[1]) }
        (process, output, errors) = (child, pipes[0][0], pipes[1][0])
        guard result == 0 else {
            isReaped = true
            throw Failure(description: "\(program): \(String(cString: strerror(result)))")
        }
    }

    deinit {
        if !isReaped {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
        }
        close(output)
        close(errors)
    }

    /// The processor time of each thread of the child, in nanoseconds, by the identifier of the thread.
    package func threadTimes() throws -> [String: UInt64] {
        let folder = "/proc/\(process)/task"
        var times: [String: UInt64] = [:]
        for thread in try FileManager.default.contentsOfDirectory(atPath: folder) {
            // A thread that has ended since the listing of the folder has no such file.
            let text = try? String(contentsOfFile: "\(folder)/\(thread)/schedstat", encoding: .utf8)
            if let time = text?.split(separator: " ").first.flatMap({ UInt64($0) }) { times[thread] = time }
        }
        return times
    }

    /// Runs the closure while no child is being started. A child has a copy of every descriptor of this process until
    /// it executes its program, so a socket that a test closes in that moment stays open. A test that needs the
    /// immediate effect of `close` therefore calls `close` in the closure.
    package static func whileNoChildStarts<Result>(_ body: () throws -> Result) rethrows -> Result {
        try starting.withLock { _ in try body() }
    }

    private static let starting = Mutex(())

    /// Runs the daemon's program with these arguments and waits for its exit.
    package static func run(_ arguments: [String], environment: [String] = ["HOME=/nonexistent"]) throws -> End {
        try ChildProcess(arguments, environment: environment).end()
    }

    /// Sends a signal. For SIGSTOP, also waits until all threads of the process have stopped.
    package func signal(_ number: Int32) {
        kill(process, number)
        guard number == SIGSTOP else { return }
        var state = siginfo_t()
        while waitid(P_PID, id_t(process), &state, WSTOPPED | WEXITED | WNOWAIT) < 0, errno == EINTR {}
    }

    /// True if a signal is in a signal set of the main thread, such as `SigIgn` or `SigBlk` in /proc/PID/status.
    package func has(_ number: Int32, in set: String) throws -> Bool {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("\(set):") }
        let mask = line?.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) }
        return (mask ?? 0) >> UInt64(number - 1) & 1 == 1
    }

    /// Waits until a line on standard error contains the text, and returns the first such line since the start.
    package func line(containing text: String, seconds: Int = Deadline.patience) throws -> String {
        let deadline = Deadline(seconds: seconds)
        while true {
            let lines = String(decoding: receivedBytes[.errors] ?? [], as: UTF8.self).split(separator: "\n")
            if let line = lines.first(where: { $0.contains(text) }) { return String(line) }
            guard hasEnded[.errors] != true else {
                throw Failure(
                    description:
                        "the program ended without a line that contains \"\(text)\": \(lines.joined(separator: " | "))")
            }
            try read(until: deadline, for: "\"\(text)\"")
        }
    }

    /// Waits for the exit of the child. Does not kill the child: the caller sends a signal first if the child does not
    /// exit on its own.
    package func end(seconds: Int = Deadline.patience) throws -> End {
        let deadline = Deadline(seconds: seconds)
        while hasEnded[.output] != true || hasEnded[.errors] != true {
            try read(until: deadline, for: "the exit of the program")
        }
        // Both outputs have ended, because the child has exited or is exiting.
        var status: Int32 = 0
        waitpid(process, &status, 0)
        isReaped = true
        let code = status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
        return End(
            code: code, output: String(decoding: receivedBytes[.output] ?? [], as: UTF8.self),
            errors: String(decoding: receivedBytes[.errors] ?? [], as: UTF8.self))
    }

    private func read(until deadline: Deadline, for event: String) throws {
        let streams: [(Stream, Int32)] = [(.output, output), (.errors, errors)].filter { hasEnded[$0.0] != true }
        let ready = deadline.wait(for: POLLIN, on: streams.map(\.1))
        guard !ready.isEmpty else { throw Failure(description: "waited too long for \(event)") }
        for (stream, descriptor) in ready.map({ streams[$0] }) {
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { receivedBytes[stream, default: []] += chunk[..<count] } else { hasEnded[stream] = true }
        }
    }
}
