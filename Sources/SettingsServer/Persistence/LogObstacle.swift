internal import Platform
internal import Synchronization

/// Why writes are not taken at present, to be asked from any thread; told to the operator once when it comes and once
/// when it goes.
final class LogObstacle: Sendable {
    private let log: Log
    private let current = Mutex<CommitLogError?>(nil)

    init(_ log: Log) {
        self.log = log
    }

    /// The reason, for callers; nil if writes are taken.
    var text: String? { current.withLock { $0?.reason } }

    func clear() {
        if exchange(nil) != nil { log.info("writes are taken again") }
    }

    func set(_ error: CommitLogError) {
        if exchange(error)?.description != error.description { log.error("writes fail: \(error)") }
    }

    private func exchange(_ new: CommitLogError?) -> CommitLogError? {
        current.withLock { current in
            defer { current = new }
            return current
        }
    }
}

extension CommitLogError {
    /// What a failure of the file system means for whoever writes.
    init(_ outcome: Outcome, _ error: FileError) {
        let remedy =
            error.isFull
            ? "; free some room, and writes are taken again by themselves"
            : "; once the cause is gone, writes are taken again by themselves"
        self.init(
            outcome, error.isFull ? .full : .failed, error.description + remedy,
            reason: "cannot write to the data directory: \(error.reason)\(remedy)")
    }
}
