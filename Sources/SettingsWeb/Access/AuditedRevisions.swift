internal import Platform
internal import SettingsAPI
internal import SettingsStorage
internal import Synchronization

/// A record of the commits whose audit lines were written last, in the file `AUDIT` of the data directory. The audit
/// lines themselves are in the audit file, which is the file of ``AuditLog`` and has one line for each commit.
///
/// At a start, the record shows which commits lack an audit line. The audit file does not suffice, because it is empty
/// after a log rotation. The record has slots of equal length, with one revision (the number of a commit) each. A new
/// revision overwrites the oldest revision, so an update is one small write, which is not synced. Thread-safe.
final class AuditedRevisions: Sendable {
    /// The maximum number of revisions in the record.
    static let capacity = 1024
    /// The length of a slot: the digits of a revision, padded with spaces, and a line feed.
    private static let slotLength = 20

    /// The revisions that the record contained at the start, in ascending order.
    let initialRevisions: [Revision]
    private let file: OpenFile
    /// The number of revisions written so far, including overwritten revisions. It selects the next slot.
    private let count: Atomic<Int>

    init(in directory: DataDirectory) throws(FileError) {
        file = try OpenFile(directory.path(of: DataDirectory.auditName), .creating, in: directory.fileSystem)
        let slots = try file.readAll().split(separator: UInt8(ascii: "\n"))
        let revisions = slots.compactMap { slot in
            Revision(String(decoding: slot.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self))
        }
        initialRevisions = Array(revisions.sorted().suffix(Self.capacity))
        count = Atomic(initialRevisions.count)
        // The slots are in ascending order, so that the next revision overwrites the oldest revision.
        let text = initialRevisions.flatMap { Self.slot($0) }
        try file.write(text.span, at: 0)
        try file.truncate(to: initialRevisions.count * Self.slotLength)
    }

    /// Adds the revision of a commit whose line was written. If the record is empty, ``AuditLog`` also adds the
    /// revision of the state at the start, because the commits up to this revision need no lines.
    func add(_ revision: Revision) {
        let slot = count.add(1, ordering: .relaxed).oldValue % Self.capacity
        // If the write fails, the next start may write the line again. No line is lost.
        let text = Self.slot(revision)
        try? file.write(text.span, at: slot * Self.slotLength)
    }

    private static func slot(_ revision: Revision) -> [UInt8] {
        let digits = Array(revision.description.utf8)
        return digits + [UInt8](repeating: UInt8(ascii: " "), count: slotLength - 1 - digits.count)
            + [UInt8(ascii: "\n")]
    }
}
