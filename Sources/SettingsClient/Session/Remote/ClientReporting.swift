internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The name under which a follower reports to the daemon, and its last report. A state machine without I/O.
struct ClientReporting: Sendable {
    /// The name in the reports. Nil if the follower does not report at present.
    private(set) var client: ClientName?
    /// The report in the last request, which the daemon may not have received.
    var sent: ClientReport?
    /// True while a task sends reports in requests of their own.
    var isSending = false
    /// The name that the program has chosen. Nil if the program does not report.
    private let chosenName: ClientName?
    /// The refusal of the chosen name. Nil if there was no refusal, or after the refusal was logged.
    private var refusal: SettingsError?

    init(_ client: ClientName?) {
        (self.client, chosenName) = (client, client)
    }

    /// Reports again under the chosen name if reporting was stopped.
    mutating func restart() {
        if client == nil { client = chosenName }
    }

    /// Handles the failure of a long poll. Returns true if the long poll must be repeated at once, because it will
    /// contain another name or no report.
    ///
    /// A daemon refuses a name that belongs to another caller. The follower then reports under the name with a random
    /// suffix. If the daemon also refuses this name, or does not know the parameters of a report because it has an
    /// earlier version, the follower stops reporting.
    mutating func recoverFromRefusal(_ error: SettingsError) -> Bool {
        guard let name = client else {
            // The long poll had no report, so the report is not the cause of the failure. Another daemon may answer the
            // next request, so the request contains a report again.
            restart()
            return false
        }
        switch error.code {
        case .forbidden where name == chosenName:
            let suffix = "-" + String(UInt32.random(in: 0x1000_0000 ... .max), radix: 16)
            client = ClientName(
                anyText: name.text.prefix(maximumBytes: ClientName.maximumLength - suffix.utf8.count) + suffix)
            refusal = error
        case .forbidden, .badRequest: stop()
        default: return false
        }
        return true
    }

    /// Stops reporting until ``restart()``.
    mutating func stop() {
        (client, refusal) = (nil, nil)
    }

    /// Removes and returns the error which says that the follower reports under another name than the chosen name.
    /// Called when the daemon has accepted the other name. Returns nil if there is no error to log.
    mutating func removeNameChangeError() -> DefaultsError? {
        guard let refusal = refusal?.problem, let client else { return nil }
        self.refusal = nil
        return .refused(Refusal(.forbidden, "\(refusal.detail); this process reports as \(client)"))
    }
}

extension RemoteFollower.State {
    /// The report for all subscriptions together, because the daemon regards all subscriptions as one client: the
    /// oldest of the states that the subscriptions have applied last, and the failure of the first subscription that
    /// has failed.
    var report: ClientReport {
        let reports = subscriptions.sorted { $0.key < $1.key }.map(\.value.report)
        var report = reports.first { $0.failed != nil } ?? ClientReport()
        let applied = reports.compactMap(\.applied)
        // Cursors of different histories have no order.
        let isOneHistory = applied.allSatisfy { $0.epoch == newestCursor.epoch }
        report.applied = isOneHistory ? applied.min { $0.revision < $1.revision } : nil
        return report
    }

    /// True if the report contains a failure or the newest state as applied, so that a request does not have to wait
    /// for handlers.
    var isReportUpToDate: Bool {
        let report = report
        return report.failed != nil || report.applied.map { !$0.precedes(newestCursor) } ?? false
    }

    /// Returns the next report for the task of ``RemoteFollower/sendReports()``. Returns nil if the task must end,
    /// because the newest report was sent or the follower does not report at present.
    ///
    /// - Parameter lastSent: the last report of the task. Nil if the task has sent no report, or must send its last
    ///   report again unless a long poll has sent it.
    fileprivate mutating func nextReport(after lastSent: ClientReport?) -> (ClientReport, by: ClientName)? {
        let report = report
        // A long poll may have sent a newer report after `lastSent`. The daemon may have received the request with
        // `lastSent` after the long poll. So a report that differs from `lastSent` is sent even if the long poll
        // contained this report.
        guard !isStopped, let client = reporting.client, report != lastSent,
            lastSent != nil || report != reporting.sent
        else {
            reporting.isSending = false
            return nil
        }
        reporting.sent = report
        return (report, client)
    }
}

extension RemoteFollower {
    /// Records the report of a subscription. The next long poll contains the report. If a long poll is not sent yet,
    /// because handlers are running, a long poll with the report replaces it. If a long poll waits for its answer, a
    /// separate request sends the report.
    func record(_ report: ClientReport, of id: UInt64) {
        let (poll, mustSend) = state.withLock { state -> (AsyncRequest?, Bool) in
            state.subscriptions[id]?.report = report
            guard state.reporting.client != nil, state.poll != nil, state.report != state.reporting.sent else {
                return (nil, false)
            }
            if state.timeWithoutHandlerWait != nil, .now < state.requestTime {
                state.endsHandlerWait = true
                return (state.poll, false)
            }
            guard !state.reporting.isSending else { return (nil, false) }
            state.reporting.isSending = true
            return (nil, true)
        }
        poll?.cancel()
        if mustSend { sendReports() }
    }

    /// The pause before a report is sent again. A long poll that was sent this long before a report has probably
    /// reached the daemon before the report.
    private static let repeatPause = Duration.seconds(1)

    /// Sends reports until the daemon has the newest report. Ignores a refusal, because the next long poll contains the
    /// report again.
    private func sendReports() {
        Task(executorPreference: ClientThread.shared) { [self] in
            var lastSent: ClientReport?
            while let (report, client) = state.withLock({ $0.nextReport(after: lastSent) }) {
                lastSent = report
                let start = ContinuousClock.now
                let mustRepeat: Bool
                let call = Endpoint.report(report, by: client, of: suite)
                switch await server.send(call, by: start + Self.timeout).result {
                case .success:
                    // The daemon may receive this request before a long poll that was sent shortly before over another
                    // connection. The older report of the long poll then replaces this report, so this report is
                    // repeated.
                    mustRepeat = state.withLock { $0.requestTime } + Self.repeatPause > start
                case .failure(let error):
                    mustRepeat = error.isTransient
                    // A daemon of an earlier version does not know the path.
                    if error.status == 404, error.code != .unknownSuite { state.withLock { $0.reporting.stop() } }
                }
                guard mustRepeat else { continue }
                lastSent = nil
                _ = await Promise<Void>().value(until: .now + Self.repeatPause)
                state.withLock { state in
                    // If no long poll has sent the report since, the task sends the report again.
                    if state.reporting.sent == report, state.requestTime < start { state.reporting.sent = nil }
                }
            }
        }
    }
}
