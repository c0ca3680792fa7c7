internal import SettingsModel

/// An origin that says who made a commit, and why. A commit, its changes and the settings that it wrote share one object.
package final class CommitOrigin: Hashable, Sendable {
    /// The name of the caller; nil if the daemon did not ask for one.
    package let by: String?
    /// The reason that the caller gave.
    package let note: String?

    private init(named by: String?, _ note: String?) {
        self.by = by
        self.note = note
    }

    /// Makes an origin; nil if there is nothing in it.
    package convenience init?(by: String?, note: String?) {
        guard by != nil || note != nil else { return nil }
        self.init(named: by, note)
    }

    /// The origin without the note; nil if there is nothing else in it.
    package var withoutNote: CommitOrigin? { note == nil ? self : CommitOrigin(by: by, note: nil) }

    /// The most bytes of a note.
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
    /// Reads the members `by` and `note`; nil if neither is there.
    static func read(_ reader: ObjectReader) throws(BodyError) -> CommitOrigin? {
        CommitOrigin(by: try reader.optional("by"), note: try reader.optional("note"))
    }
}

extension JSONWriter {
    /// Writes the members `by` and `note`, as far as they are known.
    mutating func members(of origin: CommitOrigin?) {
        guard let origin else { return }
        member("by", origin.by)
        member("note", origin.note)
    }
}
