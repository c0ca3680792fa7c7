internal import Foundation
internal import Glibc
internal import Synchronization

/// The real program, or another one, as a child process, with what it says. Every wait is bounded, so that a test fails
/// instead of hanging; a child that is still there when the object goes is killed.
package final class ChildProcess {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    /// The end of a child.
    package struct End: Equatable {
        /// Its exit code, or the signal that ended it as a negative number.
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
    private var said: [Stream: [UInt8]] = [:]
    private var isOver: [Stream: Bool] = [:]
    private var isReaped = false

    /// The daemon that was built beside the tests.
    package static let program = built("settingsd")

    /// A program that was built beside the tests.
    package static func built(_ name: String) -> String {
        folder + name
    }

    private static let folder: String = {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { readlink("/proc/self/exe", $0, text.count) } ?? 0
            }
        }
        let tests = buffer[..<max(0, count)]
        return String(decoding: tests[..<(tests.lastIndex(of: UInt8(ascii: "/")) ?? 0)], as: UTF8.self) + "/"
    }()

    /// - Parameter descriptors: those that the child has, too, from 3 on.
    package init(
        _ arguments: [String], environment: [String] = ["HOME=/nonexistent"], of program: String = ChildProcess.program,
        descriptors: [Int32] = []
    ) throws {
        var pipes: [[Int32]] = [[-1, -1], [-1, -1]]
        for index in pipes.indices {
            // Unlike a pipe's, its ends are never open in a child that another test starts at the same moment.
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
        // Copies above those that the child gets, so that none takes the place of another.
        let copies = descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, 100) }
        for (index, copy) in copies.enumerated() { posix_spawn_file_actions_adddup2(&actions, copy, 3 + Int32(index)) }
        defer { for copy in copies { close(copy) } }
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for text in words + variables { free(text) } }
        // A child inherits ignored signals from a shell that runs the tests in the background, and blocked signals from the threads of
        // Dispatch. The programs of a child would inherit them, too.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var defaults = sigset_t()
        sigemptyset(&defaults)
        sigaddset(&defaults, SIGINT)
        sigaddset(&defaults, SIGQUIT)
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

    /// Until a child runs its program it has a copy of every descriptor of this process, so that what is closed in that
    /// moment stays open. A test to which that matters closes it in here.
    package static func whileNoneStarts<Result>(_ body: () throws -> Result) rethrows -> Result {
        try starting.withLock { _ in try body() }
    }

    private static let starting = Mutex(())

    /// Runs the program to its end.
    package static func run(_ arguments: [String], environment: [String] = ["HOME=/nonexistent"]) throws -> End {
        try ChildProcess(arguments, environment: environment).end()
    }

    /// Sends a signal. After SIGSTOP it returns once all threads of the process have stopped: until then they go on.
    package func signal(_ number: Int32) {
        kill(process, number)
        guard number == SIGSTOP else { return }
        var state = siginfo_t()
        while waitid(P_PID, id_t(process), &state, WSTOPPED | WEXITED | WNOWAIT) < 0, errno == EINTR {}
    }

    /// True if a signal is in a set that the kernel shows of the main thread, such as `SigIgn` or `SigBlk`.
    package func has(_ number: Int32, in set: String) throws -> Bool {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("\(set):") }
        let mask = line?.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) }
        return (mask ?? 0) >> UInt64(number - 1) & 1 == 1
    }

    /// Waits until it says something on standard error, and returns the line in which it does.
    package func line(containing text: String, seconds: Int = Deadline.patience) throws -> String {
        let deadline = Deadline(seconds: seconds)
        while true {
            let lines = String(decoding: said[.errors] ?? [], as: UTF8.self).split(separator: "\n")
            if let line = lines.first(where: { $0.contains(text) }) { return String(line) }
            guard isOver[.errors] != true else {
                throw Failure(description: "it never said \"\(text)\" but: \(lines.joined(separator: " | "))")
            }
            try read(until: deadline, for: "\"\(text)\"")
        }
    }

    /// Waits until it is over.
    package func end(seconds: Int = Deadline.patience) throws -> End {
        let deadline = Deadline(seconds: seconds)
        while isOver[.output] != true || isOver[.errors] != true { try read(until: deadline, for: "its end") }
        // No other process holds the other ends, so it is over, or about to be.
        var status: Int32 = 0
        waitpid(process, &status, 0)
        isReaped = true
        let code = status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
        return End(
            code: code, output: String(decoding: said[.output] ?? [], as: UTF8.self),
            errors: String(decoding: said[.errors] ?? [], as: UTF8.self))
    }

    private func read(until deadline: Deadline, for what: String) throws {
        let streams: [(Stream, Int32)] = [(.output, output), (.errors, errors)].filter { isOver[$0.0] != true }
        let ready = deadline.wait(for: POLLIN, on: streams.map(\.1))
        guard !ready.isEmpty else { throw Failure(description: "waited too long for \(what)") }
        for (stream, descriptor) in ready.map({ streams[$0] }) {
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { said[stream, default: []] += chunk[..<count] } else { isOver[stream] = true }
        }
    }
}
