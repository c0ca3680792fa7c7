internal import Glibc

/// A signal that a process can receive.
package enum ProcessSignal: CaseIterable, Sendable {
    case brokenPipe
    case childEnd
    case hangUp
    case interrupt
    case kill
    case quit
    case terminate
    case user1
    case user2
    case windowChange

    package var number: Int32 {
        switch self {
        case .brokenPipe: SIGPIPE
        case .childEnd: SIGCHLD
        case .hangUp: SIGHUP
        case .interrupt: SIGINT
        case .kill: SIGKILL
        case .quit: SIGQUIT
        case .terminate: SIGTERM
        case .user1: SIGUSR1
        case .user2: SIGUSR2
        case .windowChange: SIGWINCH
        }
    }

    /// The name without `SIG`, as `kill` takes it.
    package var name: String {
        switch self {
        case .brokenPipe: "PIPE"
        case .childEnd: "CHLD"
        case .hangUp: "HUP"
        case .interrupt: "INT"
        case .kill: "KILL"
        case .quit: "QUIT"
        case .terminate: "TERM"
        case .user1: "USR1"
        case .user2: "USR2"
        case .windowChange: "WINCH"
        }
    }

    /// The exit code that a shell reports if this signal ends a process.
    package var exitCode: Int32 { 128 + number }

    package func ignore() {
        signal(number, SIG_IGN)
    }

    package func restoreDefault() {
        signal(number, SIG_DFL)
    }

    /// Makes the signal end the process with ``exitCode``, without running exit handlers.
    package func exitWithoutHandlersOnArrival() {
        signal(number) { number in _exit(128 + number) }
    }

    /// Sends the signal to a process. Returns false if the process does not exist or belongs to another user.
    package func send(to process: RunningProcess) -> Bool {
        Glibc.kill(process.identifier, number) == 0
    }

    /// Blocks signals for the calling thread, and for threads that this thread starts later. A blocked signal stays
    /// pending.
    package static func block(_ signals: [ProcessSignal]) {
        changeMask(by: SIG_BLOCK, signals)
    }

    /// Unblocks signals for the calling thread. The kernel delivers pending signals immediately.
    package static func unblock(_ signals: [ProcessSignal]) {
        changeMask(by: SIG_UNBLOCK, signals)
    }

    private static func changeMask(by operation: Int32, _ signals: [ProcessSignal]) {
        var set = sigset_t(signals)
        pthread_sigmask(operation, &set, nil)
    }
}

extension sigset_t {
    init(_ signals: [ProcessSignal]) {
        self.init()
        sigemptyset(&self)
        for signal in signals { sigaddset(&self, signal.number) }
    }
}
