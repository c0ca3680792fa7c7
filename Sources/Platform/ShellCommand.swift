internal import Glibc

/// A command that `/bin/sh` runs as a child process.
package struct ShellCommand {
    /// The text that the shell reads.
    package let text: String
    /// The words for `$1` and the following parameters of the shell.
    package var arguments: [String] = []
    /// Environment variables that the child process has in addition to those of this process. Nil removes a variable.
    package var variables: [String: String?] = [:]
    /// True for a program that a person works with: Ctrl-C and Ctrl-\ then reach only the child process.
    package var usesTerminal = false

    package init(_ text: String) {
        self.text = text
    }

    /// Runs the command and waits for its end. Returns its exit code, or 128 plus the number of the signal that ended it.
    package func run() throws(SystemError) -> Int32 {
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
        let words = (["/bin/sh", "-c", text, "sh"] + arguments).map { strdup($0) } + [nil]
        let environment = childEnvironment() + [nil]
        defer { for pointer in words + environment { free(pointer) } }
        var (process, status) = (pid_t(), Int32())
        let code = posix_spawn(&process, "/bin/sh", nil, &attributes, words, environment)
        guard code == 0 else { throw SystemError(call: "posix_spawn", code: code) }
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + status & 0x7F
    }

    private static let terminalSignals = [ProcessSignal.interrupt, .quit]

    /// Copies the environment of this process byte by byte, because values need not be UTF-8, and applies the changes.
    private func childEnvironment() -> [UnsafeMutablePointer<CChar>?] {
        let inherited = EnvironmentVariables.definitions.filter { definition in
            !variables.keys.contains { name in strncmp(definition, name + "=", name.utf8.count + 1) == 0 }
        }
        let added = variables.compactMap { name, value in value.map { "\(name)=\($0)" } }
        return inherited.map { strdup($0) } + added.map { strdup($0) }
    }
}
