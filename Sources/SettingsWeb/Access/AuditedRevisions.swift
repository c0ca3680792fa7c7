internal import Platform
internal import SettingsAPI
internal import SettingsStorage
internal import Synchronization

/// A record of the commits whose audit lines were written last, in the file `AUDIT` of the data directory.
///
/// An audit file that was just rotated or removed has no lines, so it cannot tell the next start which commits still need theirs.
/// The file has slots of equal length, each with a revision. A revision overwrites the oldest, so an update is one small write. The
/// file is not synced: the lines are not either.
final class AuditedRevisions: Sendable {
    /// The number of slots.
    static let capacity = 1024
    private static let slotLength = 20

    /// The revisions at the start, in order.
    let revisions: [Revision]
    private let file: OpenFile
    private let count: Atomic<Int>

    init(in directory: DataDirectory) throws(FileError) {
        file = try OpenFile(directory.path(of: DataDirectory.auditName), .creating, in: directory.fileSystem)
        let slots = try file.readAll().split(separator: UInt8(ascii: "\n"))
        let known = slots.compactMap { slot in
            Revision(String(decoding: slot.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self))
        }
        revisions = Array(known.sorted().suffix(Self.capacity))
        count = Atomic(revisions.count)
        // In order, so that the next revision overwrites the oldest.
        let text = revisions.flatMap { Self.slot($0) }
        try file.write(text.span, at: 0)
        try file.truncate(to: revisions.count * Self.slotLength)
    }

    /// Adds the revision of a commit whose line was written.
    func add(_ revision: Revision) {
        let slot = count.add(1, ordering: .relaxed).oldValue % Self.capacity
        // If this fails, the next start may write lines of a rotated file again. It misses none.
        let text = Self.slot(revision)
        try? file.write(text.span, at: slot * Self.slotLength)
    }

    private static func slot(_ revision: Revision) -> [UInt8] {
        let digits = Array(revision.description.utf8)
        return digits + [UInt8](repeating: UInt8(ascii: " "), count: slotLength - 1 - digits.count)
            + [UInt8(ascii: "\n")]
    }
}
