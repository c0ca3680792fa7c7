internal import CLinux
internal import Glibc

/// A program that runs as a child process with the descriptors, the terminal and the process group of this process. The
/// kernel kills the program when this process ends.
package struct ForegroundProgram: Sendable {
    package let process: RunningProcess

    /// Starts a program. The calling thread must live as long as this process, because the kernel kills the program
    /// when the thread ends.
    ///
    /// - Parameters:
    ///   - arguments: first the path of the program, or a name that is looked up in `PATH` of this process; then the
    ///     arguments of the program.
    ///   - variables: the values of environment variables by name, which override the inherited values.
    package init(_ arguments: [String], variables: [String: String]) throws(SystemError) {
        let argumentPointers = arguments.map { strdup($0.systemBytes) } + [nil]
        let environment = EnvironmentVariables.copiedDefinitions(with: variables) + [nil]
        defer { for pointer in argumentPointers + environment { free(pointer) } }
        var identifier = pid_t()
        let code = start_bound_program(argumentPointers, environment, &identifier)
        guard code == 0 else { throw SystemError(call: "exec", code: code) }
        process = RunningProcess(identifier: identifier)
    }

    /// Reaps all child processes that have ended. Process 1 also reaps processes that other processes have started: if
    /// the parent of a process ends, the kernel makes process 1 the new parent.
    ///
    /// - Returns: The exit code of `program`, or 128 plus the number of the signal that ended `program`. Nil if
    ///   `program` has not ended.
    package static func reapChildren(awaiting program: ForegroundProgram?) -> Int32? {
        var (status, code) = (Int32(), Int32?.none)
        while true {
            let identifier = waitpid(-1, &status, WNOHANG)
            guard identifier > 0 else { return code }
            if identifier == program?.process.identifier { code = ShellCommand.exitCode(ofStatus: status) }
        }
    }

    /// True if a signal that the terminal sends to this process, for example because of Ctrl-C, also reaches the
    /// program. The terminal sends the signal to a process group, so the result is false if the program has changed its
    /// group.
    package func receivesFromTerminal(_ signal: ProcessSignal) -> Bool {
        // If the terminal disappears, the kernel first sends SIGHUP only to the leader of the session.
        if signal == .hangUp, getsid(0) == getpid() { return false }
        return getpgid(process.identifier) == getpgrp()
    }
}

/// The signals that arrive at this process, in the order of their arrival. A process has at most one value of this
/// type.
package struct SignalArrivals: Sendable {
    package struct Arrival: Equatable, Sendable {
        package let signal: ProcessSignal
        /// True if the kernel sent the signal, for example because of Ctrl-C; false if a process sent it.
        package let isFromKernel: Bool

        package init(_ signal: ProcessSignal, isFromKernel: Bool) {
            (self.signal, self.isFromKernel) = (signal, isFromKernel)
        }
    }

    /// The descriptor that is readable after the arrival of a signal: the read end of a pipe. It is never closed,
    /// because the signal handlers write to the other end until the process ends.
    package let descriptor: Int32

    /// Replaces the default action of signals. A signal that the process ignores stays ignored, except SIGCHLD, because
    /// a process that ignores SIGCHLD cannot wait for its child processes.
    package init(of signals: [ProcessSignal]) throws(SystemError) {
        descriptor = note_signals(signals.map(\.number), signals.count)
        guard descriptor >= 0 else { throw SystemError(call: "pipe2") }
    }

    /// Removes and returns the next arrival; nil if there is none.
    package func next() -> Arrival? {
        var note: (UInt8, UInt8) = (0, 0)
        var count = 0
        repeat { count = read(descriptor, &note, 2) } while count < 0 && errno == EINTR
        guard count == 2, let signal = ProcessSignal.allCases.first(where: { $0.number == Int32(note.0) }) else {
            return nil
        }
        return Arrival(signal, isFromKernel: note.1 == 1)
    }
}
