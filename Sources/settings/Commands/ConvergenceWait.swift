import Platform
import SettingsAPI
import SettingsHTTP

/// Waits until a percentage of the clients of each suite has applied a state: the option `--wait-for`.
struct ConvergenceWait {
    /// The longest wait that the daemon accepts in one request.
    private static let longestWait = Duration.seconds(300)
    /// The pause between two requests if the daemon answers at once, and the wait of a request if there are several suites.
    private static let pace = Duration.seconds(1)
    /// The default of the option `clients.forgetSeconds` of the daemon.
    private static let usualForgetTime = Duration.seconds(90)

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

    /// Waits, and prints the result. Then confirms a pending action, or reverts it after a failure.
    func run(deciding pending: PendingDescription? = nil) throws(ToolError) -> ExitCode {
        try Terminal.flush()
        var failure: ToolError?
        do throws(ToolError) {
            guard !suites.isEmpty else {
                throw ToolError(.failed, "the answer of the daemon does not say which suites changed")
            }
            try awaitClients(isConfirmed: pending == nil)
        } catch {
            failure = error
        }
        if let pending {
            try pending.end(after: failure, success: "the clients have applied the change", arguments, client)
        } else if let failure {
            throw failure
        }
        return .done
    }

    /// The answers of the daemon about a suite.
    private struct Progress {
        let suite: SuiteName
        var newest: Convergence?
        /// The number of clients in the first answer.
        var presentAtStart: Int64 = 0
    }

    /// - Parameter isConfirmed: false if the daemon reverts the change at the end of the time of `--confirm`.
    private func awaitClients(isConfirmed: Bool) throws(ToolError) {
        // The clocks of the daemon and of this machine may differ, so the deadline in the answer is not used.
        let limit = isConfirmed ? timeout : min(timeout, try arguments.duration("confirm") ?? timeout)
        let start = ContinuousClock.now
        let end = start + limit
        var (backOff, generator, outage) = (BackOff(), SystemRandomNumberGenerator(), SettingsError?.none)
        var waiting = suites.map { Progress(suite: $0) }
        while let first = waiting.first {
            // A daemon that shuts down may answer before the wait is over.
            var pause = first.newest == nil ? .zero : BackOff.shortest
            // The first requests do not wait, because they tell how many clients are present before an outage.
            let longest = first.newest == nil ? .zero : waiting.count > 1 ? Self.pace : Self.longestWait
            var wait = max(.zero, min(longest, end - .now))
            do throws(SettingsError) {
                for index in waiting.indices {
                    let answer = try ask(waiting[index].suite, wait: wait)
                    if waiting[index].newest == nil { waiting[index].presentAtStart = answer.present }
                    (waiting[index].newest, wait) = (answer, .zero)
                    // After a restart, the daemon answers at once if the clients that it knows have applied the state.
                    if answer.isConverged { pause = Self.pace }
                }
                backOff.reset()
            } catch {
                guard error.isTransient else { throw ToolError(describing: error) }
                if outage == nil {
                    Terminal.warn("\(ToolError(describing: error).message); trying until the daemon answers")
                }
                outage = error
                let asked = BackOff.requestedPause(milliseconds: error.problem?.retryAfterMs)
                pause = backOff.next(notBefore: asked, using: &generator)
            }
            for progress in waiting { try throwFailure(of: progress) }
            // Clients that have not reported again for this time are gone.
            let needsClientsOfStart = ContinuousClock.now < start + Self.usualForgetTime
            for progress in waiting where isConverged(progress, needsClientsOfStart) {
                guard isConfirmed || progress.newest?.present ?? 0 > 0 else {
                    throw ToolError(.failed, "no program reports which revision of \(progress.suite) it has applied")
                }
                report(progress)
            }
            waiting.removeAll { isConverged($0, needsClientsOfStart) }
            guard let open = waiting.first else { return }
            guard ContinuousClock.now < end else { throw late(open, after: limit, outage) }
            CurrentThread.sleep(for: min(pause, end - .now))
        }
    }

    private func ask(_ suite: SuiteName, wait: Duration) throws(SettingsError) -> Convergence {
        // The daemon waits whole seconds.
        let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
        return try client.withTimeout(.seconds(10)).blocking.send(
            .convergence(of: suite, for: target, share: Double(percentage) / 100, wait: .seconds(seconds)))
    }

    /// True if enough clients have applied the state.
    ///
    /// After a restart, the daemon does not know the clients that have not reported again, and the HTTP client may have
    /// repeated the request without an error. Therefore the percentage of the clients at the start must have applied the
    /// state, too.
    private func isConverged(_ progress: Progress, _ needsClientsOfStart: Bool) -> Bool {
        guard let newest = progress.newest, newest.isConverged else { return false }
        return !needsClientsOfStart || newest.applied * 100 >= Int64(percentage) * progress.presentAtStart
    }

    private func report(_ progress: Progress) {
        guard let newest = progress.newest, newest.present > 0 else {
            return Terminal.warn(ClientCommands.noClients(of: progress.suite))
        }
        if !arguments.has("quiet") { print(([newest.sentence] + newest.details).joined(separator: "\n")) }
    }

    private func throwFailure(of progress: Progress) throws(ToolError) {
        guard let newest = progress.newest, newest.failed > 0, !newest.isConverged else { return }
        let clients = newest.failed == 1 ? "1 client" : "\(newest.failed) clients"
        throw ToolError(
            .clientFailed,
            (["\(clients) of \(newest.suite) could not apply revision \(target.revision)"] + newest.details)
                .joined(separator: "\n"))
    }

    private func late(_ progress: Progress, after limit: Duration, _ outage: SettingsError?) -> ToolError {
        guard let newest = progress.newest else {
            let cause = outage.map { ToolError(describing: $0).message } ?? "the daemon did not answer"
            return ToolError(.late, "timed out after \(limit): \(cause)")
        }
        var lines = ["timed out after \(limit): \(newest.sentence)"] + newest.details
        let absent = progress.presentAtStart - newest.present
        if absent > 0 { lines.append("  \(absent) clients that were present at the start are absent now") }
        return ToolError(.late, lines.joined(separator: "\n"))
    }
}

extension Convergence {
    fileprivate var sentence: String {
        "\(applied) of \(present) \(present == 1 ? "client" : "clients") of \(suite) applied "
            + "revision \(target.revision)"
    }

    /// A line for each client that has failed, and a line with the clients that have not reported the state.
    fileprivate var details: [String] {
        var lines = failures.map { failure in
            "  \(Terminal.plain(failure.name.text)) failed\(failure.reason.map { ": \(Terminal.plain($0))" } ?? "")"
        }
        if !missing.isEmpty {
            let others = present - applied - failed - Int64(missing.count)
            let names = missing.map { Terminal.plain($0.text) }.joined(separator: ", ")
            lines.append("  waiting for \(names)\(others > 0 ? " and \(others) more" : "")")
        }
        return lines
    }
}
