internal import SettingsModel

/// The caller that made a commit, and the note of its request. A commit, its changes and the settings that it changed
/// share one object.
package final class CommitOrigin: Hashable, Sendable {
    /// The name of the caller, as in the member `by`; nil if the caller has no name, for example over TCP without
    /// access control.
    package let by: String?
    /// The note of the request; nil if the request had no note.
    package let note: String?

    private init(named by: String?, _ note: String?) {
        self.by = by
        self.note = note
    }

    /// Makes an origin. Returns nil if both values are nil.
    package convenience init?(by: String?, note: String?) {
        guard by != nil || note != nil else { return nil }
        self.init(named: by, note)
    }

    /// The origin without the note; nil if the origin has no name of a caller.
    package var withoutNote: CommitOrigin? { note == nil ? self : CommitOrigin(by: by, note: nil) }

    /// The maximum length of a note in bytes.
    package static let maximumNoteLength = 256

    package static func == (first: CommitOrigin, second: CommitOrigin) -> Bool {
        first === second || first.by == second.by && first.note == second.note
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(by)
        hasher.combine(note)
    }
}

extension CommitOrigin {
    /// Reads the members `by` and `note`. Returns nil if both are missing.
    static func read(_ reader: ObjectReader) throws(BodyError) -> CommitOrigin? {
        CommitOrigin(by: try reader.optional("by"), note: try reader.optional("note"))
    }
}

extension JSONWriter {
    /// Writes the members `by` and `note`, unless they are nil.
    mutating func members(byAndNote origin: CommitOrigin?) {
        guard let origin else { return }
        member("by", origin.by)
        member("note", origin.note)
    }
}
