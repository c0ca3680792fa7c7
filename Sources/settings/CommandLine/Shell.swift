import Glibc

/// A runner of commands of the shell.
enum Shell {
    /// Runs a command and waits for its end. Returns its exit code, or 128 and the signal that ended it.
    ///
    /// - Parameters:
    ///   - command: the text that the shell reads.
    ///   - arguments: the words for `$1` and so on.
    ///   - hasTerminal: true for a program that a person works with: keys such as Ctrl-C are for it alone.
    static func run(
        _ command: String, _ arguments: [String] = [], hasTerminal: Bool = false
    ) throws(ToolError) -> Int32 {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        if hasTerminal {
            var signals = sigset_t()
            sigemptyset(&signals)
            for number in terminalSignals { sigaddset(&signals, number) }
            posix_spawnattr_setsigdefault(&attributes, &signals)
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
            for number in terminalSignals { signal(number, SIG_IGN) }
        }
        defer { if hasTerminal { for number in terminalSignals { signal(number, SIG_DFL) } } }
        let words = ["/bin/sh", "-c", command, "sh"] + arguments
        var pointers = words.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var (process, status) = (pid_t(), Int32())
        let error = posix_spawn(&process, "/bin/sh", nil, &attributes, &pointers, environ)
        guard error == 0 else { throw ToolError(.failed, "/bin/sh cannot be run: \(String(cString: strerror(error)))") }
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + status & 0x7F
    }

    private static let terminalSignals = [SIGINT, SIGQUIT]
}
