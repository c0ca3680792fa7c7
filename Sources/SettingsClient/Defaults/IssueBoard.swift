internal import Dispatch
internal import Foundation
internal import Synchronization

/// A board that delivers issues: to the log and to all streams.
final class IssueBoard: Sendable {
    typealias Log = @Sendable (DefaultsIssue) -> Void

    private let log: Log
    /// For issues that come up where a lock is held or a write waited for: the receiver may write a setting.
    private let queue = DispatchQueue(label: "settings issues")
    private let readers = Mutex<(streams: [UInt64: AsyncStream<DefaultsIssue>.Continuation], last: UInt64)>(([:], 0))

    /// At most so many wait for a slow reader; beyond that the oldest are dropped. They stand in the log.
    private static let maxWaiting = 1024

    private static let isQueue = DispatchSpecificKey<Bool>()

    init(log: @escaping Log) {
        self.log = log
        queue.setSpecific(key: Self.isQueue, value: true)
    }

    deinit {
        for stream in readers.withLock({ $0.streams.values }) { stream.finish() }
    }

    func report(_ issue: DefaultsIssue) {
        log(issue)
        for stream in readers.withLock({ Array($0.streams.values) }) { stream.yield(issue) }
    }

    /// Delivers an issue on a queue, after those before it.
    func reportLater(_ issue: DefaultsIssue) {
        queue.async { self.report(issue) }
    }

    /// Blocks the calling thread until the queue has delivered all issues. Does nothing in a log function.
    func finishReporting() {
        if DispatchQueue.getSpecific(key: Self.isQueue) != true { queue.sync {} }
    }

    /// Waits without blocking a thread until the queue has delivered all issues.
    nonisolated(nonsending) func finishReportingInBackground() async {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
    }

    /// The issues from here on.
    func issues() -> AsyncStream<DefaultsIssue> {
        let (issues, stream) = AsyncStream.makeStream(
            of: DefaultsIssue.self, bufferingPolicy: .bufferingNewest(Self.maxWaiting))
        let id = readers.withLock { readers in
            readers.last += 1
            readers.streams[readers.last] = stream
            return readers.last
        }
        stream.onTermination = { [weak self] _ in
            self?.readers.withLock { $0.streams[id] = nil }
        }
        return issues
    }

    /// Writes a line to standard error. That it cannot be written is no reason to end the program.
    static let standardLog: Log = { issue in
        try? FileHandle.standardError.write(contentsOf: Data("\(issue)\n".utf8))
    }
}
