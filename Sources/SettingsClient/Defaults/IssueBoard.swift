internal import Dispatch
internal import Foundation
internal import Synchronization

/// Tells of issues: to a log, and to everybody who asked.
final class IssueBoard: Sendable {
    /// How an issue is logged.
    typealias Log = @Sendable (DefaultsIssue) -> Void

    private let log: Log
    /// Where issues are told that come up while something is locked or waited for: whoever is told may write something.
    private let queue = DispatchQueue(label: "settings issues")
    private let readers = Mutex<(streams: [UInt64: AsyncStream<DefaultsIssue>.Continuation], last: UInt64)>(([:], 0))

    /// As many wait for a slow reader; beyond that the oldest are dropped, which the log has told.
    private static let mostWaiting = 1024

    init(log: @escaping Log) {
        self.log = log
    }

    deinit {
        for stream in readers.withLock({ $0.streams.values }) { stream.finish() }
    }

    func report(_ issue: DefaultsIssue) {
        WaitingTime.apart { log(issue) }
        for stream in readers.withLock({ Array($0.streams.values) }) { stream.yield(issue) }
    }

    /// Tells of an issue soon, on a queue, after those before it.
    func reportLater(_ issue: DefaultsIssue) {
        queue.async { self.report(issue) }
    }

    /// Waits until all that was to be told later has been told.
    func finishReporting() {
        queue.sync {}
    }

    /// The issues from here on.
    func issues() -> AsyncStream<DefaultsIssue> {
        let (issues, stream) = AsyncStream.makeStream(
            of: DefaultsIssue.self, bufferingPolicy: .bufferingNewest(Self.mostWaiting))
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

    /// Writes a line to standard error. Where that takes nothing there is nobody to tell, and no reason to end the program.
    static let standardLog: Log = { issue in
        try? FileHandle.standardError.write(contentsOf: Data("\(issue)\n".utf8))
    }
}
