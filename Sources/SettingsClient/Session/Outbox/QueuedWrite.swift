/// A write in the queue of a session.
struct QueuedWrite: Equatable, Sendable {
    /// The number of the write in the session and in the file.
    let number: Int64
    /// The write as the program made it.
    let original: PendingChange
    /// The change that is sent. A conflict may have replaced the original.
    var change: PendingChange
    /// The size in bytes of the line of the write.
    var size: Int
    /// The number of conflicts that have replaced the change.
    var conflicts = 0
}
