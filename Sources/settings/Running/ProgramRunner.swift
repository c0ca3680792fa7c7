import Platform
import SettingsHTTP

/// Runs a program with the variables of an inbox: waits for the first variables, then supervises the program.
struct ProgramRunner {
    let arguments: [String]
    let reaction: ProgramSupervision.Reaction
    let settleTime: Duration
    let stopTimeout: Duration
    let inbox: VariableInbox

    /// The signals that the program receives if `settings` receives them.
    static let forwardedSignals = [
        ProcessSignal.hangUp, .interrupt, .quit, .terminate, .user1, .user2, .windowChange,
    ]
    /// How long to wait for the daemon before the program is started with variables from the cache.
    private static let patienceWithCache = Duration.seconds(2)

    private var name: String { Terminal.plain(arguments[0]) }

    /// Waits for the first variables. If the daemon does not answer, returns the variables from the cache.
    func firstVariables(orCached cached: ProgramVariables?, timeout: Duration) throws(ToolError) -> ProgramVariables {
        let patience = cached == nil ? timeout : min(timeout, Self.patienceWithCache)
        let deadline = ContinuousClock.now + patience
        var isWarned = false
        while true {
            let hasNews = PollSet.wait(for: .readable, on: inbox.descriptor, until: deadline)
            let news = inbox.take()
            if let variables = news.variables { return variables }
            if let failure = news.failure { throw failure }
            let isLate = !hasNews && ContinuousClock.now >= deadline
            if let cached, isLate || news.outage != nil {
                let cause = news.outage?.message ?? "the daemon did not answer within \(patience)"
                Terminal.warn("\(cause); starting \(name) with the values of the cache")
                return cached
            }
            guard !isLate else { throw ToolError(.late, "timed out after \(timeout) waiting for the daemon") }
            if let outage = news.outage, !isWarned {
                Terminal.warn("\(outage.message); trying until the daemon answers")
                isWarned = true
            }
        }
    }

    /// Runs the program until it ends, with restarts. Returns the exit code for `settings`.
    ///
    /// The calling thread must live as long as this process.
    func run(with variables: ProgramVariables) throws(SystemError) -> Int32 {
        let signals = try SignalArrivals(of: Self.forwardedSignals + [.childEnd])
        var supervision = ProgramSupervision(
            of: name, with: variables, reaction: reaction, settleTime: settleTime, stopTimeout: stopTimeout, at: .now)
        var program: ForegroundProgram?
        do throws(SystemError) {
            program = try start(with: variables)
        } catch {
            return Self.exitCode(ofFailedStart: error)
        }
        var lastFailure = ""
        while true {
            wait(for: signals, until: supervision.deadline)
            var actions: [ProgramSupervision.Action] = []
            while let arrival = signals.next() {
                guard arrival.signal != .childEnd else { continue }
                let isDelivered = arrival.isFromKernel && program?.receivesFromTerminal(arrival.signal) ?? false
                actions += supervision.receive(arrival, isDelivered: isDelivered, at: .now)
            }
            if let code = program?.takeExitCode() {
                program = nil
                actions += supervision.programEnded(code: code, at: .now)
            }
            let news = inbox.take()
            if let variables = news.variables {
                supervision.update(variables, at: .now)
                lastFailure = ""
            }
            if let outage = news.outage { Terminal.warn("\(outage.message); trying until the daemon answers") }
            if let failure = news.failure, failure.message != lastFailure {
                Terminal.warn("\(name) keeps its environment: \(failure.message)")
                lastFailure = failure.message
            }
            actions += supervision.advance(to: .now)
            while !actions.isEmpty {
                switch actions.removeFirst() {
                case .start:
                    do throws(SystemError) {
                        program = try start(with: supervision.variables)
                    } catch {
                        actions += supervision.programEnded(code: Self.exitCode(ofFailedStart: error), at: .now)
                    }
                case .send(let signal): if let program { _ = signal.send(to: program.process) }
                case .report(let text): Terminal.warn(text)
                case .end(let code): return code
                }
            }
        }
    }

    private func wait(for signals: SignalArrivals, until deadline: ContinuousClock.Instant?) {
        var descriptors = PollSet()
        descriptors.add(signals.descriptor, .readable)
        descriptors.add(inbox.descriptor, .readable)
        _ = descriptors.wait(until: deadline)
    }

    private func start(with variables: ProgramVariables) throws(SystemError) -> ForegroundProgram {
        do throws(SystemError) {
            return try ForegroundProgram(arguments, variables: variables.mapValues(\.string))
        } catch {
            Terminal.warn("cannot start \(name): \(error.reason)")
            throw error
        }
    }

    /// The exit code of shells for a program that does not exist, or that cannot be started.
    private static func exitCode(ofFailedStart error: SystemError) -> Int32 {
        error.code == SystemErrorCode.fileMissing ? 127 : 126
    }
}
