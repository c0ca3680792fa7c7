internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The name of a client, and its last report. A state machine without I/O.
struct ClientReporting: Sendable {
    /// The name of the client. Nil if the daemon gets no reports.
    private(set) var client: ClientName?
    /// The report in the last request.
    var sent: ClientReport?
    /// True while a task sends reports.
    var isSending = false
    /// The name that the program wants.
    private let wanted: ClientName?
    /// The refusal of the wanted name, which was not logged.
    private var refusal: SettingsError?

    init(_ client: ClientName?) {
        (self.client, wanted) = (client, client)
    }

    /// Tries again to report, after the daemon has accepted no reports.
    mutating func restart() {
        if client == nil { client = wanted }
    }

    /// Reacts to the refusal of a long poll with a report. If the daemon refuses the name of the client, the client gets
    /// another name. If it still refuses the request, the next request has no report. A daemon of an earlier version does
    /// not know the parameters of a report. Returns true if the request has to be repeated at once.
    mutating func changeName(after error: SettingsError) -> Bool {
        guard let name = client else {
            // The daemon refuses also a request without a report, so the report is not the cause.
            restart()
            return false
        }
        switch error.code {
        case .forbidden where name == wanted:
            let suffix = "-" + String(UInt32.random(in: 0x1000_0000 ... .max), radix: 16)
            client = ClientName(
                anyText: name.text.prefix(maximumBytes: ClientName.maximumLength - suffix.utf8.count) + suffix)
            refusal = error
        case .forbidden, .badRequest: stop()
        default: return false
        }
        return true
    }

    /// Ends the reports until ``restart()``.
    mutating func stop() {
        (client, refusal) = (nil, nil)
    }

    /// Returns the reason of another name, once, after the daemon has accepted the name.
    mutating func removeReasonOfNewName() -> DefaultsError? {
        guard let refusal = refusal?.problem, let client else { return nil }
        self.refusal = nil
        return .refused(Refusal(.forbidden, "\(refusal.detail); this process reports as \(client)"))
    }
}

extension RemoteFollower.State {
    /// The report about all subscriptions: the oldest state that they have applied, and a failure of one of them.
    var report: ClientReport {
        let reports = subscriptions.sorted { $0.key < $1.key }.map(\.value.report)
        var report = reports.first { $0.failed != nil } ?? ClientReport()
        let applied = reports.compactMap(\.applied)
        // Cursors of different histories have no order.
        let isOneHistory = applied.allSatisfy { $0.epoch == newestCursor.epoch }
        report.applied = isOneHistory ? applied.min { $0.revision < $1.revision } : nil
        return report
    }

    /// True if the report has the newest state.
    var isNewestStateReported: Bool {
        let report = report
        return report.failed != nil || report.applied.map { !$0.precedes(newestCursor) } ?? false
    }

    /// Returns the report that the task of ``RemoteFollower/sendReports()`` has to send after its last report. Returns
    /// nil if the daemon has the newest report, and the task has to end.
    fileprivate mutating func nextReport(after last: ClientReport?) -> (ClientReport, by: ClientName)? {
        let report = report
        // A long poll with a newer report may have overtaken the last report, so the report is compared with both.
        guard !isStopped, let client = reporting.client, report != last, last != nil || report != reporting.sent else {
            reporting.isSending = false
            return nil
        }
        reporting.sent = report
        return (report, client)
    }
}

extension RemoteFollower {
    /// Records what a subscription reports. The next long poll contains the report. If a long poll waits for its answer,
    /// another request sends the report.
    func record(_ report: ClientReport, of id: UInt64) {
        let (poll, mustSend) = state.withLock { state -> (LongPoll?, Bool) in
            state.subscriptions[id]?.report = report
            guard state.reporting.client != nil, state.poll != nil, state.report != state.reporting.sent else {
                return (nil, false)
            }
            if state.timeWithoutHandlers != nil, .now < state.requestTime {
                state.isResuming = true
                return (state.poll, false)
            }
            guard !state.reporting.isSending else { return (nil, false) }
            state.reporting.isSending = true
            return (nil, true)
        }
        poll?.cancel()
        if mustSend { sendReports() }
    }

    private static let repeatPause = Duration.seconds(1)

    /// Sends reports until the daemon has the newest report. Ignores refusals, because the next long poll repeats the
    /// report.
    private func sendReports() {
        Task(executorPreference: ClientThread.shared) { [self] in
            var last: ClientReport?
            while let (report, client) = state.withLock({ $0.nextReport(after: last) }) {
                last = report
                let start = ContinuousClock.now
                let mustRepeat: Bool
                let call = Endpoint.report(report, by: client, of: suite)
                switch await server.send(call, by: start + Self.timeout).result {
                case .success:
                    // The daemon may read this request before a long poll that was sent earlier over another
                    // connection. The older report of the long poll then replaces this report.
                    mustRepeat = state.withLock { $0.requestTime } + Self.repeatPause > start
                case .failure(let error):
                    mustRepeat = error.isTransient
                    if error.status == 404, error.code != .unknownSuite { state.withLock { $0.reporting.stop() } }
                }
                guard mustRepeat else { continue }
                last = nil
                _ = await Promise<Void>().value(until: .now + Self.repeatPause)
                state.withLock { state in
                    if state.reporting.sent == report, state.requestTime < start { state.reporting.sent = nil }
                }
            }
        }
    }
}
