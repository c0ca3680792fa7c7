internal import HTTPWire
internal import SettingsAPI

/// A cache with the last rendered answer for each ``AnswerKey``. An answer key identifies the suites and keys of a
/// read or a watch and the kind of its answer, but not the revision that the client knows.
///
/// The same commit wakes all watchers (requests that wait for changes) with the same answer key, and they share an
/// answer. The answer to a GET of a suite is used until the suite changes. A full cache is emptied. Owned by the event
/// loop.
struct ResponseCache {
    private static let maximumEntries = 64
    private static let maximumBytes = 8 << 20

    /// An answer, with the revisions for which it is valid.
    struct Entry {
        /// The revision up to which the clients know all commits; zero if the answer does not depend on this revision.
        var clientRevision = Revision.zero
        /// The revision of the state; for the answer to a GET of a suite, the revision of the suite.
        let revision: Revision
        /// The position in the history (epoch and revision) that the answer contains.
        let cursor: Cursor
        let response: Response
        /// The length of the beginning of the body that contains the cursor. While the suite has not changed, replacing
        /// the beginning makes the body for a later cursor. Zero if the beginning cannot be replaced.
        var prefixLength = 0
    }

    private var entries: [AnswerKey: Entry] = [:]
    private var bytes = 0
    /// The entry that was found last. It saves hashing, because watchers with the same key are answered in succession.
    private var last: (answerKey: AnswerKey, entry: Entry)?
    /// The cursor of the last answer, and the header fields that all answers with this cursor have in common.
    private var common: (cursor: Cursor, fields: FieldBlock)?

    /// Returns the cached answer if it is for clients with this client revision, from the state at `revision`.
    mutating func response(to answerKey: AnswerKey, after clientRevision: Revision, at revision: Revision) -> Response?
    {
        guard let entry = entry(for: answerKey, at: revision), entry.clientRevision == clientRevision else {
            return nil
        }
        return entry.response
    }

    /// Returns the entry of an answer key if the entry has the revision.
    mutating func entry(for answerKey: AnswerKey, at revision: Revision) -> Entry? {
        if let last, last.answerKey == answerKey { return last.entry.revision == revision ? last.entry : nil }
        guard let entry = entries[answerKey], entry.revision == revision else { return nil }
        last = (answerKey, entry)
        return entry
    }

    /// Adds an entry, unless its body is longer than `maximumBytes`. Removes the former entry of the answer key.
    mutating func insert(_ entry: Entry, for answerKey: AnswerKey) {
        last = nil
        if let replaced = entries.removeValue(forKey: answerKey) { bytes -= replaced.response.body.count }
        let size = entry.response.body.count
        guard size <= Self.maximumBytes else { return }
        if entries.count >= Self.maximumEntries || bytes + size > Self.maximumBytes { (entries, bytes) = ([:], 0) }
        entries[answerKey] = entry
        bytes += size
    }

    /// Returns the header fields of an answer with a cursor and, unless it is nil, an entity tag.
    mutating func fields(at cursor: Cursor, tag: EntityTag? = nil) -> FieldBlock {
        if let common, common.cursor == cursor {
            var fields = common.fields
            if let tag { fields.append(tag: tag) }
            return fields
        }
        common = (cursor, FieldBlock(cursor: cursor, tag: nil))
        return FieldBlock(cursor: cursor, tag: tag)
    }
}
