import Platform
import SettingsAPI
import SettingsHTTP

/// Waits until a percentage of the present clients of each suite has applied a state: the option `--wait-for`. A client
/// is present while it watches the suite, and for the time `clients.forgetSeconds` after its last report or watch.
struct ConvergenceWait {
    /// The longest wait that the daemon accepts in one request.
    private static let longestWait = Duration.seconds(300)
    /// In a round, the command asks once for each suite which clients have applied the state. With several suites, this
    /// is the longest wait of the first request of a round. Also the pause after a round in which the daemon reports
    /// success although the command must still wait.
    private static let roundInterval = Duration.seconds(1)
    /// The default of the option `clients.forgetSeconds` of the daemon. The command does not know the actual value.
    private static let defaultForgetTime = Duration.seconds(90)

    private let target: Cursor
    private let suites: [SuiteName]
    private let percentage: Int
    private let timeout: Duration
    private let arguments: Arguments
    private let client: DaemonClient

    init(
        for target: Cursor, of suites: [SuiteName], _ arguments: Arguments, _ client: DaemonClient
    ) throws(ToolError) {
        (self.target, self.suites, self.arguments, self.client) = (target, suites, arguments, client)
        percentage = try arguments.awaitedPercentage() ?? 100
        timeout = try arguments.duration("timeout") ?? .seconds(60)
    }

    /// Waits, and prints the result.
    ///
    /// - Parameter pending: the pending action of `--confirm`, which is confirmed after a success and reverted after a
    ///   failure; nil without `--confirm`.
    func run(confirmingOrReverting pending: PendingDescription? = nil) throws(ToolError) -> ExitCode {
        try Terminal.flush()
        var failure: ToolError?
        do throws(ToolError) {
            guard !suites.isEmpty else {
                throw ToolError(
                    .failed, "cannot wait for clients: the answer of the daemon does not name the changed suites")
            }
            try awaitClients(isPending: pending != nil)
        } catch {
            failure = error
        }
        if let pending {
            try pending.confirmOrRevert(
                after: failure, success: "the clients have applied the change", arguments, client)
        } else if let failure {
            throw failure
        }
        return .done
    }

    /// The answers of the daemon about the clients of a suite.
    private struct SuiteAnswers {
        let suite: SuiteName
        /// The last answer; nil before the first answer.
        var last: Convergence?
        /// The number of present clients in the first answer.
        var initialClientCount: Int64 = 0
    }

    /// Waits until the percentage of the clients of each suite has applied the state, and prints the last answers.
    /// Throws if a client of a suite below the percentage has failed, or after the timeout.
    ///
    /// - Parameter isPending: true if the daemon reverts the change at the end of the time of `--confirm`. Then the
    ///   wait ends at this time at the latest, and fails if a suite has no client.
    private func awaitClients(isPending: Bool) throws(ToolError) {
        // The clocks of the daemon and of this machine may differ, so the deadline in the answer is not used.
        let limit = isPending ? min(timeout, try arguments.duration("confirm") ?? timeout) : timeout
        let start = ContinuousClock.now
        let end = start + limit
        var (backOff, generator, outage) = (BackOff(), SystemRandomNumberGenerator(), SettingsError?.none)
        var waiting = suites.map { SuiteAnswers(suite: $0) }
        while let first = waiting.first {
            // A daemon that shuts down answers before the wait is over. The pause keeps the command from sending many
            // requests in this time.
            var pause = first.last == nil ? .zero : BackOff.shortest
            // The first requests do not wait, because their answers say how many clients are present before an outage.
            let longest = first.last == nil ? .zero : waiting.count > 1 ? Self.roundInterval : Self.longestWait
            var wait = max(.zero, min(longest, end - .now))
            do throws(SettingsError) {
                for index in waiting.indices {
                    let answer = try requestConvergence(of: waiting[index].suite, wait: wait)
                    if waiting[index].last == nil { waiting[index].initialClientCount = answer.present }
                    // Only the first request of a round waits.
                    (waiting[index].last, wait) = (answer, .zero)
                    // The command may still wait for clients that were present at the start (see `isConverged`). The
                    // daemon does not know these clients, and answers each request at once.
                    if answer.isConverged { pause = Self.roundInterval }
                }
                backOff.reset()
                outage = nil
            } catch {
                guard error.isTransient else { throw ToolError(describing: error) }
                if outage == nil {
                    Terminal.warn("\(ToolError(describing: error).message); trying until the daemon answers")
                }
                outage = error
                let requestedPause = BackOff.requestedPause(milliseconds: error.problem?.retryAfterMs)
                pause = backOff.next(notBefore: requestedPause, using: &generator)
            }
            for answers in waiting { try throwFailure(of: answers) }
            // A client that was present at the start and has not reported for this time is gone, and no longer counts.
            let requiresInitialClients = ContinuousClock.now < start + Self.defaultForgetTime
            for answers in waiting where isConverged(answers, requiresInitialClients) {
                guard !isPending || answers.last?.present ?? 0 > 0 else {
                    throw ToolError(.failed, "no program reports which revision of \(answers.suite) it has applied")
                }
                printResult(answers)
            }
            waiting.removeAll { isConverged($0, requiresInitialClients) }
            guard let unfinished = waiting.first else { return }
            guard ContinuousClock.now < end else { throw timeoutError(unfinished, after: limit, outage) }
            CurrentThread.sleep(for: min(pause, end - .now))
        }
    }

    private func requestConvergence(of suite: SuiteName, wait: Duration) throws(SettingsError) -> Convergence {
        // The daemon waits whole seconds.
        let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
        return try client.withTimeout(.seconds(10)).blocking.send(
            .convergence(of: suite, for: target, share: Double(percentage) / 100, wait: .seconds(seconds)))
    }

    /// True if enough clients have applied the state.
    ///
    /// After a restart, the daemon does not know the clients that have not reported again, so it may count fewer
    /// clients than are present. The command may not notice the restart, because the HTTP client can repeat a request
    /// without an error. Therefore the number of clients that have applied the state must also be at least the
    /// percentage of `initialClientCount`.
    ///
    /// - Parameter requiresInitialClients: false to omit the comparison with `initialClientCount`.
    private func isConverged(_ answers: SuiteAnswers, _ requiresInitialClients: Bool) -> Bool {
        guard let last = answers.last, last.isConverged else { return false }
        return !requiresInitialClients || last.applied * 100 >= Int64(percentage) * answers.initialClientCount
    }

    private func printResult(_ answers: SuiteAnswers) {
        guard let last = answers.last, last.present > 0 else {
            return Terminal.warn(ClientCommands.noClients(of: answers.suite))
        }
        if !arguments.has("quiet") { print(([last.sentence] + last.details).joined(separator: "\n")) }
    }

    /// Throws if a client has failed and the percentage is not reached.
    private func throwFailure(of answers: SuiteAnswers) throws(ToolError) {
        guard let last = answers.last, last.failed > 0, !last.isConverged else { return }
        let clients = last.failed == 1 ? "1 client" : "\(last.failed) clients"
        throw ToolError(
            .clientFailed,
            (["\(clients) of \(last.suite) could not apply revision \(target.revision)"] + last.details)
                .joined(separator: "\n"))
    }

    private func timeoutError(
        _ answers: SuiteAnswers, after limit: Duration, _ outage: SettingsError?
    ) -> ToolError {
        guard let last = answers.last else {
            let cause = outage.map { ToolError(describing: $0).message } ?? "the daemon did not answer"
            return ToolError(.timedOut, "timed out after \(limit): \(cause)")
        }
        var lines = ["timed out after \(limit): \(last.sentence)"] + last.details
        let absence = Self.absence(ofClients: answers.initialClientCount - last.present)
        if let absence { lines.append(absence) }
        return ToolError(.timedOut, lines.joined(separator: "\n"))
    }

    /// The line of the message of a timeout about clients that were present only at the start; nil without such
    /// clients.
    static func absence(ofClients count: Int64) -> String? {
        guard count > 0 else { return nil }
        return count == 1
            ? "  1 client that was present at the start is absent now"
            : "  \(count) clients that were present at the start are absent now"
    }
}

extension Convergence {
    /// The number of clients that have applied the state, as a sentence.
    fileprivate var sentence: String {
        "\(applied) of \(present) \(present == 1 ? "client" : "clients") of \(suite) applied "
            + "revision \(target.revision)"
    }

    /// A line for each client that has failed, and a line with the clients that have reported neither success nor
    /// failure. The daemon names at most 100 clients of each group.
    fileprivate var details: [String] {
        var lines = failures.map { failure in
            "  \(Terminal.escaped(failure.name.text)) failed\(failure.reason.map { ": \(Terminal.escaped($0))" } ?? "")"
        }
        if !missing.isEmpty {
            let others = present - applied - failed - Int64(missing.count)
            let names = missing.map { Terminal.escaped($0.text) }.joined(separator: ", ")
            lines.append("  waiting for \(names)\(others > 0 ? " and \(others) more" : "")")
        }
        return lines
    }
}
