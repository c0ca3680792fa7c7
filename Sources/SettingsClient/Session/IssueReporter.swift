internal import Dispatch
internal import SettingsHTTP
internal import Synchronization

/// Delivers the issues of an adapter to its log and to the streams of ``issues()``. Thread-safe.
final class IssueReporter: Sendable {
    /// The log of the adapter. Nil for the log of the process.
    private let log: DefaultsLog?
    /// The queue that calls the log. The log may block or write a setting, and the reporting thread may hold a lock, so
    /// the reporting thread does not call the log.
    private let queue = DispatchQueue(label: "settings issues")
    /// The number of issues that wait for the log, and of issues that were dropped because too many waited.
    private let backlog = Mutex((waiting: 0, dropped: 0))
    /// The streams of ``issues()`` by their identifiers, and the last identifier.
    private let readers = Mutex<(streams: [UInt64: AsyncStream<DefaultsIssue>.Continuation], lastID: UInt64)>(([:], 0))

    /// The maximum number of issues that wait for a slow reader of a stream, or for a slow log. Beyond this number, a
    /// stream drops the oldest issues, and the reporter drops new issues instead of passing them to the log.
    private static let maxWaiting = 1024
    /// The deliveries to logs that have not ended, for all adapters of the process.
    private static let deliveries = DispatchGroup()
    /// True on the log queue of any adapter.
    private static let isLogQueue = DispatchSpecificKey<Bool>()

    init(log: DefaultsLog?) {
        self.log = log
        queue.setSpecific(key: Self.isLogQueue, value: true)
    }

    deinit {
        for stream in readers.withLock({ $0.streams.values }) { stream.finish() }
    }

    /// Delivers an issue to the streams now, and to the log on the queue.
    func report(_ issue: DefaultsIssue) {
        for stream in readers.withLock({ Array($0.streams.values) }) { stream.yield(issue) }
        let hasRoom = backlog.withLock { backlog in
            if backlog.waiting == Self.maxWaiting {
                backlog.dropped += 1
                return false
            }
            backlog.waiting += 1
            return true
        }
        if hasRoom { queue.async(group: Self.deliveries) { [self] in write(issue) } }
    }

    private func write(_ issue: DefaultsIssue) {
        let log = log ?? .default
        log.write(issue)
        let dropped = backlog.withLock { backlog in
            backlog.waiting -= 1
            // The dropped issues are reported when the log has caught up.
            guard backlog.waiting == 0 else { return 0 }
            defer { backlog.dropped = 0 }
            return backlog.dropped
        }
        guard dropped > 0 else { return }
        let reason = "\(dropped) messages were dropped, because the log was too slow"
        let error = DefaultsError.unusableFile(path: "the log", reason: reason)
        log.write(DefaultsIssue(suite: issue.suite, key: nil, attempt: .check, error: error))
    }

    /// Blocks the calling thread until the log has all issues, at most until the deadline. Returns at once in a log
    /// handler, because the handler would wait for itself.
    func waitUntilLogged(until deadline: ContinuousClock.Instant) {
        guard DispatchQueue.getSpecific(key: Self.isLogQueue) != true else { return }
        _ = deliveryOfPresentIssues().wait(until: deadline)
    }

    /// Waits without blocking a thread until the log has all issues, at most until the deadline.
    nonisolated(nonsending) func waitUntilLoggedWithoutBlocking(until deadline: ContinuousClock.Instant) async {
        _ = await deliveryOfPresentIssues().value(until: deadline)
    }

    private func deliveryOfPresentIssues() -> Promise<Void> {
        let done = Promise<Void>()
        queue.async { done.fulfill(()) }
        return done
    }

    /// Blocks the calling thread until the logs have the issues of all adapters of the process, at most until the
    /// deadline.
    static func waitUntilAllLogged(until deadline: ContinuousClock.Instant) {
        _ = deliveries.wait(timeout: .after(max(.zero, deadline - .now)))
    }

    /// Returns a stream of the issues that are reported after this call.
    func issues() -> AsyncStream<DefaultsIssue> {
        let (issues, stream) = AsyncStream.makeStream(
            of: DefaultsIssue.self, bufferingPolicy: .bufferingNewest(Self.maxWaiting))
        let id = readers.withLock { readers in
            readers.lastID += 1
            readers.streams[readers.lastID] = stream
            return readers.lastID
        }
        stream.onTermination = { [weak self] _ in
            self?.readers.withLock { $0.streams[id] = nil }
        }
        return issues
    }
}
