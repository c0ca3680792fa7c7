import Platform

/// Decides when `settings run` starts its program, sends signals to the program, and ends. A state machine without
/// effects: the calling code records events, performs the returned actions, and calls ``advance(to:)`` at ``deadline``.
struct ProgramSupervision {
    /// The reaction of `settings run` to a change of the variables.
    enum Reaction: Equatable, Sendable {
        case ignore
        case restart
        /// End the program, and then `settings run`.
        case exit
        case signal(ProcessSignal)
    }

    enum Action: Equatable {
        /// Start the program with ``variables``.
        case start
        /// Send a signal to the program.
        case send(ProcessSignal)
        /// Print a message.
        case report(String)
        /// End `settings run` with this exit code.
        case end(code: Int32)
    }

    typealias Instant = ContinuousClock.Instant

    private enum Phase {
        case running(since: Instant, isRestart: Bool)
        /// The program has received SIGTERM. At `killTime`, it receives SIGKILL, and `killTime` becomes nil. When the
        /// program has ended, `settings run` ends if `isFinal` is true; otherwise the program starts again.
        case stopping(isFinal: Bool, killTime: Instant?)
        /// The program has failed after a restart. It starts again after the pause, or earlier if a change takes
        /// effect.
        case pausing(until: Instant)
    }

    /// If the program fails within this time after a restart, the cause may be the change that caused the restart. The
    /// program then starts again after a pause. A later failure has another cause, so it ends `settings run`.
    static let probation = Duration.seconds(10)
    private static let shortestPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)

    /// The name of the program, for messages.
    let program: String
    let reaction: Reaction
    /// The time from the first change until this change and all changes after it take effect together.
    let settleTime: Duration
    /// The time between SIGTERM and SIGKILL. Also the time after SIGINT, SIGQUIT or the SIGHUP of the terminal in which
    /// no change takes effect.
    let stopTimeout: Duration
    /// The variables of the last change that took effect: the variables at the last start of the program or, for
    /// ``Reaction/signal(_:)``, at the last signal because of a change.
    private(set) var variables: ProgramVariables
    /// The newest variables from the daemon. If they differ from ``variables``, they are a change.
    private var newestVariables: ProgramVariables
    private var phase: Phase
    /// The time at which the newest variables take effect; nil if no change waits to take effect.
    private var changeTime: Instant?
    /// The number of failures after restarts in sequence. Each failure doubles the next pause.
    private var failureCount = 0
    /// Not nil if the program has received SIGINT, SIGQUIT or the SIGHUP of its terminal since its start. Until this
    /// time, the program may be shutting down, so no change takes effect. A program that still runs at this time has
    /// ignored the signal.
    private var endOfShutdown: Instant?

    /// Makes the initial state, for a program that the calling code starts now.
    init(
        of program: String, with variables: ProgramVariables, reaction: Reaction, settleTime: Duration,
        stopTimeout: Duration, at now: Instant
    ) {
        (self.program, self.variables, newestVariables) = (program, variables, variables)
        (self.reaction, self.settleTime, self.stopTimeout) = (reaction, settleTime, stopTimeout)
        phase = .running(since: now, isRestart: false)
    }

    /// The time at which the calling code must call ``advance(to:)``; nil if the state does not depend on the time.
    var deadline: Instant? {
        let time: Instant? =
            switch phase {
            case .running: nil
            case .stopping(_, let killTime): killTime
            case .pausing(let end): end
            }
        return [time, changeTime].compactMap(\.self).min()
    }

    /// Records the newest variables from the daemon.
    mutating func update(_ variables: ProgramVariables, at now: Instant) {
        newestVariables = variables
        // If the program starts again after the stop, it gets the newest variables anyway.
        if case .stopping = phase { return }
        let isChanged = newestVariables != self.variables && reaction != .ignore
        changeTime = isChanged ? changeTime ?? max(now + settleTime, endOfShutdown ?? now) : nil
    }

    /// Advances the state to a time, and returns the actions that are due.
    mutating func advance(to now: Instant) -> [Action] {
        if let changeTime, changeTime <= now { return applyChange(at: now) }
        switch phase {
        case .stopping(let isFinal, let killTime?) where killTime <= now:
            phase = .stopping(isFinal: isFinal, killTime: nil)
            return [.report("\(program) did not end within \(stopTimeout); killing it"), .send(.kill)]
        case .pausing(let end) where end <= now: return start(at: now)
        default: return []
        }
    }

    private mutating func applyChange(at now: Instant) -> [Action] {
        changeTime = nil
        let change = "\(changedNames) changed"
        switch (phase, reaction) {
        case (.pausing, _): return [.report("\(change); starting \(program)")] + start(at: now)
        case (.running(let start, _), .restart):
            if now - start >= Self.probation { failureCount = 0 }
            phase = .stopping(isFinal: false, killTime: now + stopTimeout)
            return [.report("\(change); restarting \(program)"), .send(.terminate)]
        case (.running, .exit):
            phase = .stopping(isFinal: true, killTime: now + stopTimeout)
            return [.report("\(change); ending \(program)"), .send(.terminate)]
        case (.running, .signal(let signal)):
            variables = newestVariables
            return [.report("\(change); sending \(signal.name) to \(program)"), .send(signal)]
        case (.running, .ignore), (.stopping, _): return []
        }
    }

    /// The names of the variables that the change affects, for a message.
    private var changedNames: String {
        let allNames = Set(variables.keys).union(newestVariables.keys)
        let names = allNames.filter { variables[$0] != newestVariables[$0] }.sorted()
        let shown = names.prefix(5).joined(separator: ", ")
        return names.count > 5 ? "\(shown) and \(names.count - 5) more" : shown
    }

    private mutating func start(at now: Instant) -> [Action] {
        (variables, changeTime, endOfShutdown) = (newestVariables, nil, nil)
        phase = .running(since: now, isRestart: true)
        return [.start]
    }

    /// Records that the program has ended, or that it could not be started.
    ///
    /// - Parameter code: the exit code of the program. For a failed start, the exit code for `settings run`.
    mutating func programEnded(code: Int32, at now: Instant) -> [Action] {
        switch phase {
        case .running(let start, let isRestart):
            guard isRestart, code != 0, endOfShutdown == nil, now - start < Self.probation else {
                return [.end(code: code)]
            }
            let pause = min(Self.shortestPause * (1 << min(failureCount, 10)), Self.longestPause)
            failureCount += 1
            phase = .pausing(until: now + pause)
            return [
                .report("\(program) ended with exit code \(code) after a restart; starting it again in \(pause)")
            ]
        case .stopping(let isFinal, _): return isFinal ? [.end(code: code)] : start(at: now)
        case .pausing: return []
        }
    }

    /// Records a signal that `settings` has received.
    ///
    /// - Parameter isDelivered: true if the kernel has also sent the signal to the program, so `settings` must not
    ///   forward the signal.
    mutating func receive(_ arrival: SignalArrivals.Arrival, isDelivered: Bool, at now: Instant) -> [Action] {
        let signal = arrival.signal
        switch phase {
        case .running where signal == .terminate:
            phase = .stopping(isFinal: true, killTime: now + stopTimeout)
        case .running where arrival.endsPrograms:
            let end = now + stopTimeout
            endOfShutdown = end
            changeTime = changeTime.map { max($0, end) }
        case .stopping(_, let killTime) where arrival.endsPrograms:
            phase = .stopping(isFinal: true, killTime: killTime)
        case .running, .stopping: break
        case .pausing: return arrival.endsPrograms ? [.end(code: signal.exitCode)] : []
        }
        return isDelivered ? [] : [.send(signal)]
    }
}

extension SignalArrivals.Arrival {
    /// True if the signal asks a program to end. SIGHUP does so only if the kernel sends it, because the terminal has
    /// disappeared. A process sends SIGHUP to make a program reload its configuration.
    var endsPrograms: Bool {
        [.interrupt, .quit, .terminate].contains(signal) || signal == .hangUp && isFromKernel
    }
}
