internal import HTTPWire
internal import SettingsAPI

/// A cache of rendered answers by question and revision. Each loop has its own.
///
/// It keeps the newest answer to each question: watchers with the same question are woken together and share one, and a whole
/// suite is rendered again only when it has changed. When the cache is full, it begins anew.
struct ResponseCache {
    private static let mostEntries = 64
    private static let mostBytes = 8 << 20

    /// An answer, and what it was rendered for.
    struct Entry {
        /// The place of the callers; zero where the answer does not depend on it.
        var place = Revision.zero
        /// The revision of the state, or of the suite that the answer shows.
        let revision: Revision
        let cursor: Cursor
        let response: Response
        /// How much of the body names the cursor; the rest is true until the revision is another one.
        var headLength = 0
    }

    private var entries: [Question: Entry] = [:]
    private var bytes = 0
    /// The last hit: watchers with the same question are answered one after the other.
    private var last: (question: Question, entry: Entry)?
    /// The fields that answers at one cursor have in common.
    private var common: (cursor: Cursor, fields: FieldBlock)?

    /// Returns the answer to a question at a place and revision, if it is kept.
    mutating func response(to question: Question, after place: Revision, at revision: Revision) -> Response? {
        guard let entry = entry(for: question, at: revision), entry.place == place else { return nil }
        return entry.response
    }

    /// Returns what is kept for a question at a revision.
    mutating func entry(for question: Question, at revision: Revision) -> Entry? {
        if let last, last.question == question { return last.entry.revision == revision ? last.entry : nil }
        guard let entry = entries[question], entry.revision == revision else { return nil }
        last = (question, entry)
        return entry
    }

    mutating func keep(_ entry: Entry, for question: Question) {
        last = nil
        if let replaced = entries.removeValue(forKey: question) { bytes -= replaced.response.body.count }
        let size = entry.response.body.count
        if entries.count >= Self.mostEntries || bytes + size > Self.mostBytes { (entries, bytes) = ([:], 0) }
        guard size <= Self.mostBytes else { return }
        entries[question] = entry
        bytes += size
    }

    /// Returns the fields of an answer at a cursor, and of what it shows the tag, if that has one.
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
