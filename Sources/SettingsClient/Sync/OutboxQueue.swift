internal import SettingsModel

/// A write that waits to be sent.
struct KeptWrite: Hashable, Sendable {
    /// The file that it stands in.
    let file: Int
    /// Its number in that.
    let number: Int64
    /// What was asked for.
    let original: PendingChange
    /// What is sent for it.
    var form: PendingChange
    /// How many bytes its line has.
    var size: Int
    /// How often it was sent in another form, after a conflict.
    var conflicts = 0
}

/// The writes that wait, in the order in which they are sent. To take the first one costs the same however many there are.
struct OutboxQueue: Sendable {
    private var writes: ArraySlice<KeptWrite> = []
    /// The bytes of all their lines.
    private(set) var size = 0

    var first: KeptWrite? { writes.first }
    var count: Int { writes.count }
    var isEmpty: Bool { writes.isEmpty }

    mutating func append(_ write: KeptWrite) {
        writes.append(write)
        size += write.size
    }

    mutating func removeFirst() {
        size -= writes.removeFirst().size
        // What was taken is let go of now.
        if writes.isEmpty { writes = [] }
    }

    /// The first is sent in another form from here on.
    mutating func replaceFirst(by form: PendingChange, size newSize: Int) {
        guard let index = writes.indices.first else { return }
        size += newSize - writes[index].size
        writes[index].form = form
        writes[index].size = newSize
        writes[index].conflicts += 1
    }

    /// Those that stand in a file.
    func writes(in file: Int) -> [(number: Int64, write: PendingChange)] {
        writes.filter { $0.file == file }.map { ($0.number, $0.form) }
    }
}
