/// A write in the queue of a session.
struct QueuedWrite: Equatable, Sendable {
    /// The number of the write in the session and in the file.
    let number: Int64
    /// The write as the program made it.
    let original: PendingChange
    /// The change that is sent: `original`, or the change that replaced it after a conflict.
    var change: PendingChange
    /// The size in bytes of the line that stores the write in the outbox file.
    var size: Int
    /// The number of replacements of `change` after conflicts.
    var conflicts = 0
}
