import Platform

/// Decides when `settings run` starts, signals and ends its program. A state machine without effects: the caller
/// performs the returned actions, and calls ``advance(to:)`` at ``deadline``.
struct ProgramSupervision {
    /// The reaction of `settings run` to a change of the variables.
    enum Reaction: Equatable, Sendable {
        case ignore
        case restart
        case exit
        case signal(ProcessSignal)
    }

    enum Action: Equatable {
        /// Start the program with ``variables``.
        case start
        case send(ProcessSignal)
        case report(String)
        /// End `settings run` with this code.
        case end(code: Int32)
    }

    typealias Instant = ContinuousClock.Instant

    private enum Phase {
        case running(since: Instant, isRestart: Bool)
        /// The program was sent SIGTERM. At `killTime` it is sent SIGKILL, and `killTime` becomes nil. If `isFinal`,
        /// `settings run` ends with the program; otherwise the program starts again.
        case stopping(isFinal: Bool, killTime: Instant?)
        /// The program has failed after a restart.
        case pausing(until: Instant)
    }

    /// A program that fails within this time after a restart is started again. A later failure has another cause than the
    /// change, so it ends `settings run`.
    static let probation = Duration.seconds(10)
    private static let shortestPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)

    let program: String
    let reaction: Reaction
    /// The time for which changes are collected, from the first change on.
    let settleTime: Duration
    /// The time between SIGTERM and SIGKILL.
    let stopTimeout: Duration
    /// The variables with which the program was started. If a change made `settings run` send a signal since then, the
    /// variables at the time of the signal.
    private(set) var variables: ProgramVariables
    private var newest: ProgramVariables
    private var phase: Phase
    /// The time at which the newest variables take effect; nil if no change waits to take effect.
    private var changeTime: Instant?
    private var failureCount = 0
    /// The program has received SIGINT, SIGQUIT or the SIGHUP of its terminal, and may be ending until this time. The
    /// program may also ignore the signal, so a change takes effect after this time. Nil without such a signal.
    private var endOfShutdown: Instant?

    /// Makes the state of a program that the caller starts now.
    init(
        of program: String, with variables: ProgramVariables, reaction: Reaction, settleTime: Duration,
        stopTimeout: Duration, at now: Instant
    ) {
        (self.program, self.variables, newest) = (program, variables, variables)
        (self.reaction, self.settleTime, self.stopTimeout) = (reaction, settleTime, stopTimeout)
        phase = .running(since: now, isRestart: false)
    }

    /// The time of the next call of ``advance(to:)``; nil if only an event changes the state.
    var deadline: Instant? {
        let time: Instant? =
            switch phase {
            case .running: nil
            case .stopping(_, let killTime): killTime
            case .pausing(let end): end
            }
        return [time, changeTime].compactMap(\.self).min()
    }

    /// Records the newest variables.
    mutating func update(_ variables: ProgramVariables, at now: Instant) {
        newest = variables
        // The start after a stop uses the newest variables.
        if case .stopping = phase { return }
        let isChanged = newest != self.variables && reaction != .ignore
        changeTime = isChanged ? changeTime ?? max(now + settleTime, endOfShutdown ?? now) : nil
    }

    /// Returns the actions whose time has come.
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
            variables = newest
            return [.report("\(change); sending \(signal.name) to \(program)"), .send(signal)]
        case (.running, .ignore), (.stopping, _): return []
        }
    }

    /// The names of the variables that differ, for a message.
    private var changedNames: String {
        let names = Set(variables.keys).union(newest.keys).filter { variables[$0] != newest[$0] }.sorted()
        let shown = names.prefix(5).joined(separator: ", ")
        return names.count > 5 ? "\(shown) and \(names.count - 5) more" : shown
    }

    private mutating func start(at now: Instant) -> [Action] {
        (variables, changeTime, endOfShutdown) = (newest, nil, nil)
        phase = .running(since: now, isRestart: true)
        return [.start]
    }

    /// Records the end of the program, or a failed start with the exit code for `settings run`.
    mutating func programEnded(code: Int32, at now: Instant) -> [Action] {
        switch phase {
        case .running(let start, let isRestart):
            guard isRestart, code != 0, endOfShutdown == nil, now - start < Self.probation else {
                return [.end(code: code)]
            }
            let pause = min(Self.shortestPause * (1 << min(failureCount, 10)), Self.longestPause)
            failureCount += 1
            phase = .pausing(until: now + pause)
            return [.report("\(program) ended with \(code) after a restart; starting it again in \(pause)")]
        case .stopping(let isFinal, _): return isFinal ? [.end(code: code)] : start(at: now)
        case .pausing: return []
        }
    }

    /// Records a signal to `settings`.
    ///
    /// - Parameter isDelivered: true if the program has received the signal, too.
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
    /// True if the signal asks a program to end. A process sends SIGHUP to make a program reload its configuration; the
    /// kernel sends SIGHUP when the terminal disappears.
    var endsPrograms: Bool {
        [.interrupt, .quit, .terminate].contains(signal) || signal == .hangUp && isFromKernel
    }
}
