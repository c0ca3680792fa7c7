internal import Glibc

/// A command that `/bin/sh` runs as a child process.
package struct ShellCommand {
    /// The text that the shell reads.
    package let text: String
    /// The values of the positional parameters `$1`, `$2` and so on of the shell.
    package var arguments: [String] = []
    /// Changes to the environment, which the child process otherwise inherits. Nil removes a variable.
    package var variables: [String: String?] = [:]
    /// True for an interactive program, such as an editor. While the program runs, this process ignores the signals of
    /// Ctrl-C and Ctrl-\, so that only the program handles the signals.
    package var usesTerminal = false

    package init(_ text: String) {
        self.text = text
    }

    /// Runs the command until it exits. Returns its exit code, or 128 plus the number of the signal that ended it.
    package func run() throws(SystemError) -> Int32 { try run(withOutputTo: nil) }

    /// Runs the command like ``run()``, and also returns the last bytes that it wrote to standard output and standard
    /// error before it exited.
    ///
    /// The output goes to a file in memory, not to a pipe. A process that the command leaves in the background could keep
    /// a pipe open.
    package func runCapturingOutput() throws(SystemError) -> (code: Int32, output: [UInt8]) {
        let noBytes: [UInt8] = []
        let file = try MemoryFile(noBytes.span)
        let code = try run(withOutputTo: file)
        return (code, try file.lastBytes(Self.maximumOutput))
    }

    /// The maximum number of bytes of the output.
    private static let maximumOutput = 4096

    private func run(withOutputTo file: MemoryFile?) throws(SystemError) -> Int32 {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        if usesTerminal {
            var signals = sigset_t(Self.terminalSignals)
            posix_spawnattr_setsigdefault(&attributes, &signals)
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
            for signal in Self.terminalSignals { signal.ignore() }
        }
        defer { if usesTerminal { for signal in Self.terminalSignals { signal.restoreDefault() } } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        file?.addRedirection(of: [STDOUT_FILENO, STDERR_FILENO], to: &actions)
        let argumentPointers = (["/bin/sh", "-c", text, "sh"] + arguments).map { strdup($0) } + [nil]
        let environment = EnvironmentVariables.copiedDefinitions(with: variables) + [nil]
        defer { for pointer in argumentPointers + environment { free(pointer) } }
        var (process, status) = (pid_t(), Int32())
        let code = posix_spawn(&process, "/bin/sh", &actions, &attributes, argumentPointers, environment)
        guard code == 0 else { throw SystemError(call: "posix_spawn", code: code) }
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        return Self.exitCode(ofStatus: status)
    }

    /// Returns the exit code in a status of `waitpid`, or 128 plus the number of the signal that ended the process.
    static func exitCode(ofStatus status: Int32) -> Int32 {
        status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + status & 0x7F
    }

    private static let terminalSignals = [ProcessSignal.interrupt, .quit]
}
