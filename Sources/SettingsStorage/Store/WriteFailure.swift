internal import Synchronization

/// The reason why a commit log refuses writes. Logs each change of the reason. Thread-safe.
package struct WriteFailure: ~Copyable, Sendable {
    private let error = Mutex<CommitLogError?>(nil)
    private let log: Log

    package init(log: Log) {
        self.log = log
    }

    /// The error of the last failed write, or of the last failed attempt to find out whether the commit log accepts
    /// writes; nil if it accepts writes.
    package var current: CommitLogError? { error.withLock { $0 } }

    /// Records the error of a failed write or of a failed attempt to find out whether the commit log accepts writes;
    /// nil if it accepts writes.
    package func record(_ error: CommitLogError?) {
        let before = self.error.withLock { current in
            defer { current = error }
            return current
        }
        guard before?.reason != error?.reason else { return }
        if let error { log.error("writes fail: \(error)") } else { log.info("writes are accepted again") }
    }
}
