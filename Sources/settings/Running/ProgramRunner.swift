import Platform
import SettingsHTTP

/// Runs a program with the variables that a ``VariableFollower`` reports: waits for the first variables, then starts
/// the program and performs the actions that ``ProgramSupervision`` decides.
struct ProgramRunner {
    private let arguments: [String]
    private let events: FollowerEvents
    private let signals: SignalArrivals

    /// The signals that `settings` forwards to the program.
    static let forwardedSignals = [
        ProcessSignal.hangUp, .interrupt, .quit, .terminate, .user1, .user2, .windowChange,
    ]
    /// The maximum time to wait for the daemon before the program starts with variables from the cache.
    private static let timeoutWithCache = Duration.seconds(2)

    /// The name of the program, for messages.
    private var name: String { Terminal.escaped(arguments[0]) }

    /// Handles signals from now on, also while `settings` waits for the first variables. Otherwise SIGTERM could not
    /// end `settings` during this wait if it is process 1 of a container, because process 1 has no default action for
    /// signals.
    init(_ arguments: [String], events: FollowerEvents) throws(SystemError) {
        (self.arguments, self.events) = (arguments, events)
        signals = try SignalArrivals(of: Self.forwardedSignals + [.childEnd])
    }

    /// The result of ``firstVariables(orCached:timeout:)``.
    enum FirstVariables {
        case variables(ProgramVariables)
        /// A signal that ends programs arrived before the variables. `settings` must end without starting the program.
        case signal(ProcessSignal)
    }

    /// Waits for the first variables. If the daemon does not answer, returns the variables from the cache, at the first
    /// outage or after ``timeoutWithCache`` at the latest; without a cache, throws after the timeout. Throws the error
    /// of a ``FollowerEvent/failure(_:)`` at once, also with a cache.
    func firstVariables(
        orCached cached: ProgramVariables?, timeout: Duration
    ) throws(ToolError) -> FirstVariables {
        let timeout = cached == nil ? timeout : min(timeout, Self.timeoutWithCache)
        let deadline = ContinuousClock.now + timeout
        var isOutageReported = false
        while true {
            waitForEvents(until: deadline)
            let isLate = ContinuousClock.now >= deadline
            // There is no program yet, but process 1 of a container also gets the orphans of other processes as
            // children.
            _ = ForegroundProgram.reapChildren(awaiting: nil)
            while let arrival = signals.next() {
                if arrival.endsPrograms { return .signal(arrival.signal) }
            }
            var (newest, outage): (ProgramVariables?, String?)
            for event in events.removeAll() {
                switch event {
                case .variables(let variables): newest = variables
                case .failure(let error): throw error
                case .outage(let error): outage = error.message
                }
            }
            if let newest { return .variables(newest) }
            if let cached, isLate || outage != nil {
                let cause = outage ?? "the daemon did not answer within \(timeout)"
                Terminal.warn("\(cause); starting \(name) with the values of the cache")
                return .variables(cached)
            }
            guard !isLate else { throw ToolError(.timedOut, "timed out after \(timeout) waiting for the daemon") }
            if let outage, !isOutageReported { Terminal.warn("\(outage); trying until the daemon answers") }
            isOutageReported = isOutageReported || outage != nil
        }
    }

    /// Starts the program, and performs the actions of the supervision until ``ProgramSupervision/Action/end(code:)``.
    /// Returns the exit code for `settings`.
    ///
    /// The calling thread must live as long as this process, because the kernel kills the program when the thread that
    /// started the program ends.
    func run(_ initial: ProgramSupervision) -> Int32 {
        var supervision = initial
        var program: ForegroundProgram?
        // The follower repeats a failure while its cause lasts, but the user needs the message only once.
        var lastFailure = ""
        var actions = [ProgramSupervision.Action.start]
        while true {
            while !actions.isEmpty {
                switch actions.removeFirst() {
                case .start:
                    do throws(SystemError) {
                        let variables = supervision.variables.mapValues(\.string)
                        program = try ForegroundProgram(arguments, variables: variables)
                    } catch {
                        Terminal.warn("cannot start \(name): \(error.reason)")
                        // The exit codes of shells for a program that does not exist, or that cannot be started.
                        let code: Int32 = error.code == SystemErrorCode.fileMissing ? 127 : 126
                        actions += supervision.programEnded(code: code, at: .now)
                    }
                case .send(let signal): if let program { _ = signal.send(to: program.process) }
                case .report(let text): Terminal.warn(text)
                case .end(let code): return code
                }
            }
            waitForEvents(until: supervision.deadline)
            while let arrival = signals.next() {
                guard arrival.signal != .childEnd else { continue }
                let isDelivered = arrival.isFromKernel && program?.receivesFromTerminal(arrival.signal) ?? false
                actions += supervision.receive(arrival, isDelivered: isDelivered, at: .now)
            }
            if let code = ForegroundProgram.reapChildren(awaiting: program) {
                program = nil
                actions += supervision.programEnded(code: code, at: .now)
            }
            for event in events.removeAll() {
                switch event {
                case .variables(let variables):
                    supervision.update(variables, at: .now)
                    lastFailure = ""
                case .outage(let error): Terminal.warn("\(error.message); trying until the daemon answers")
                case .failure(let error):
                    if error.message != lastFailure {
                        Terminal.warn("\(name) keeps its environment: \(error.message)")
                    }
                    lastFailure = error.message
                }
            }
            actions += supervision.advance(to: .now)
        }
    }

    private func waitForEvents(until deadline: ContinuousClock.Instant?) {
        var descriptors = PollSet()
        descriptors.add(signals.descriptor, .readable)
        descriptors.add(events.descriptor, .readable)
        _ = descriptors.wait(until: deadline)
    }
}
