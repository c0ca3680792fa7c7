internal import HTTPServer
internal import SettingsAPI

/// The identifiers of the requests of one event loop that wait for a revision, with the cursors that they wait for.
struct RevisionQueue {
    /// The cursor is nil until the daemon knows the end of the history.
    private var awaitedCursors: [Ticket: Cursor?] = [:]
    /// The result of the last search: the first revision of an epoch that a request waits for; nil if no request waits for a
    /// revision of the epoch. Nil if another search is necessary in any case.
    private var lastSearch: (epoch: Epoch, nextRevision: Revision?)?

    var isEmpty: Bool { awaitedCursors.isEmpty }

    /// Adds a request.
    ///
    /// - Parameter cursor: nil for a request that waits for the end of the history, which is not known yet.
    mutating func append(_ id: Ticket, until cursor: Cursor?) {
        awaitedCursors[id] = .some(cursor)
        lastSearch = nil
    }

    mutating func remove(_ id: Ticket) {
        awaitedCursors[id] = nil
    }

    /// Has a request wait for another cursor, unless the request waits for a later cursor already.
    mutating func extend(_ id: Ticket, until cursor: Cursor) {
        guard let awaited = awaitedCursors[id] else { return }
        if let awaited, awaited.hasReached(cursor) { return }
        awaitedCursors[id] = .some(cursor)
        lastSearch = nil
    }

    /// Removes and returns requests whose cursor is reached, up to a number of requests.
    mutating func removeReached(at cursor: Cursor, atMost limit: Int) -> [Ticket] {
        if let lastSearch, lastSearch.epoch == cursor.epoch {
            guard let next = lastSearch.nextRevision, next <= cursor.revision else { return [] }
        }
        let reached = Array(
            awaitedCursors.lazy.filter { $0.value.map(cursor.hasReached) ?? false }.prefix(limit).map(\.key))
        for id in reached { awaitedCursors[id] = nil }
        let others = awaitedCursors.values.lazy.compactMap(\.self).filter { cursor.epoch.isBase(of: $0.epoch) }
        lastSearch = (cursor.epoch, others.map(\.revision).min())
        return reached
    }
}

extension Cursor {
    /// True if another cursor is not later than this cursor. Cursors of two unrelated epochs cannot be compared. The digest of
    /// grants in a cursor does not matter.
    func hasReached(_ other: Cursor) -> Bool {
        (epoch.isBase(of: other.epoch) || other.epoch.isBase(of: epoch)) && revision >= other.revision
    }
}
