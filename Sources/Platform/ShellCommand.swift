internal import CLinux
internal import Glibc

/// A command that `/bin/sh` runs as a child process.
package struct ShellCommand {
    /// The text that the shell reads.
    package let text: String
    /// The values of the positional parameters `$1`, `$2` and so on of the shell.
    package var arguments: [String] = []
    /// The changes to the environment that the child process inherits. Nil removes a variable.
    package var variables: [String: String?] = [:]
    /// True for an interactive command, such as an editor. While the command runs, this process ignores the signals of
    /// Ctrl-C and Ctrl-\, so that only the command handles the signals.
    package var usesTerminal = false

    package init(_ text: String) {
        self.text = text
    }

    /// Runs the command, and waits until it exits. Returns the exit code of the command, or 128 plus the number of the
    /// signal that ended the command.
    package func run() throws(SystemError) -> Int32 {
        if usesTerminal { for signal in Self.terminalSignals { signal.ignore() } }
        defer { if usesTerminal { for signal in Self.terminalSignals { signal.restoreDefault() } } }
        let process = try start()
        return Self.exitCode(ofStatus: Self.reap(process))
    }

    /// Runs the command, and stops it after a timeout. Also returns the last bytes that the command wrote to standard
    /// output and standard error.
    ///
    /// The output goes to a file in memory, not to a pipe, because a process that the command leaves in the background
    /// could keep a pipe open. Then the end of the output would not arrive.
    ///
    /// If the command does not exit in time, the process group of the command receives SIGTERM and later SIGKILL. If
    /// standard input is a terminal, the command has the process group of this process, so that the command can read
    /// the terminal. Then only the shell receives the signals.
    ///
    /// - Returns: The exit code, or 128 plus the number of the signal that ended the command. Nil if the command did
    ///   not exit in time.
    package func runCapturingOutput(
        for timeout: Duration
    ) throws(SystemError) -> (code: Int32?, output: [UInt8]) {
        let deadline = ContinuousClock.now + timeout
        let noBytes: [UInt8] = []
        let file = try MemoryFile(noBytes.span)
        let hasOwnGroup = !FileContents.standardInputIsTerminal
        let process = try start(withOutputTo: file, inOwnGroup: hasOwnGroup)
        let number = open_process_descriptor(process)
        // Linux before 5.3 and some containers do not allow the call. Then the command has no timeout.
        let descriptor = number < 0 ? nil : Descriptor(number)
        guard let descriptor, !PollSet.wait(for: .readable, on: descriptor.number, until: deadline) else {
            return (Self.exitCode(ofStatus: Self.reap(process)), try file.lastBytes(Self.maximumOutput))
        }
        // A negative number stands for the process group.
        let target = hasOwnGroup ? -process : process
        let killTime = ContinuousClock.now + Self.timeUntilKill
        kill(target, SIGTERM)
        let hasShellExited = PollSet.wait(for: .readable, on: descriptor.number, until: killTime)
        if hasShellExited { _ = Self.reap(process) }
        if hasOwnGroup {
            // With the signal 0, `kill` sends no signal, and succeeds while the group has a process.
            while kill(target, 0) == 0, .now < killTime { CurrentThread.sleep(for: .milliseconds(10)) }
        }
        if hasOwnGroup || !hasShellExited { kill(target, SIGKILL) }
        if !hasShellExited { _ = Self.reap(process) }
        return (nil, try file.lastBytes(Self.maximumOutput))
    }

    /// The maximum number of bytes of the returned output.
    private static let maximumOutput = 4096
    /// The time between SIGTERM and SIGKILL.
    private static let timeUntilKill = Duration.seconds(5)

    private func start(
        withOutputTo file: MemoryFile? = nil, inOwnGroup hasOwnGroup: Bool = false
    ) throws(SystemError) -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t(usesTerminal ? Self.terminalSignals : [])
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGDEF | (hasOwnGroup ? POSIX_SPAWN_SETPGROUP : 0)))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        file?.addRedirection(of: [STDOUT_FILENO, STDERR_FILENO], to: &actions)
        let argumentPointers = (["/bin/sh", "-c", text, "sh"] + arguments).map { strdup($0.systemBytes) } + [nil]
        let environment = EnvironmentVariables.copiedDefinitions(with: variables) + [nil]
        defer { for pointer in argumentPointers + environment { free(pointer) } }
        var process = pid_t()
        let code = posix_spawn(&process, "/bin/sh", &actions, &attributes, argumentPointers, environment)
        guard code == 0 else { throw SystemError(call: "posix_spawn", code: code) }
        return process
    }

    /// Waits for the end of a process, and returns its status.
    private static func reap(_ process: pid_t) -> Int32 {
        var status = Int32()
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        return status
    }

    /// Returns the exit code in a status of `waitpid`, or 128 plus the number of the signal that ended the process.
    static func exitCode(ofStatus status: Int32) -> Int32 {
        status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + status & 0x7F
    }

    private static let terminalSignals = [ProcessSignal.interrupt, .quit]
}
