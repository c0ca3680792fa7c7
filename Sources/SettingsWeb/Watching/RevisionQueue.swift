internal import HTTPServer
internal import SettingsAPI

/// The requests of one event loop that wait until the daemon has published a revision, with their cursors.
///
/// Requests wait because of the field `Settings-At-Least`, which names a cursor, or `Settings-Fresh`, which stands for
/// the newest commit of all daemons that share the history. Owned by the event loop.
struct RevisionQueue {
    /// The cursor of each request; nil while the daemon asks the shared log for the newest commit.
    private var awaitedCursors: [Ticket: Cursor?] = [:]
    /// The result of the last search for reached cursors, so that most publications need no search: the lowest revision
    /// of the epoch that a request waits for, or nil if no request waits for this epoch. `lastSearch` itself is nil if
    /// cursors were added since the search.
    private var lastSearch: (epoch: Epoch, nextRevision: Revision?)?

    var isEmpty: Bool { awaitedCursors.isEmpty }

    /// Adds a request.
    ///
    /// - Parameter cursor: nil if the daemon does not know yet which commit is the newest commit.
    mutating func append(_ id: Ticket, until cursor: Cursor?) {
        awaitedCursors[id] = .some(cursor)
        lastSearch = nil
    }

    mutating func remove(_ id: Ticket) {
        awaitedCursors[id] = nil
    }

    /// Sets a later cursor for a request. Does nothing if the request already waits for this cursor or a later cursor.
    mutating func extend(_ id: Ticket, until cursor: Cursor) {
        guard let awaited = awaitedCursors[id] else { return }
        if let awaited, awaited.hasReached(cursor) { return }
        awaitedCursors[id] = .some(cursor)
        lastSearch = nil
    }

    /// Removes and returns at most `limit` requests whose cursor is not later than the published cursor.
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
    /// True if another cursor has the same history and is not later than this cursor. The cursor of a caller with
    /// limited grants has a digest of the grants at the end of its epoch. The comparison ignores this digest.
    func hasReached(_ other: Cursor) -> Bool {
        (epoch.isBase(of: other.epoch) || other.epoch.isBase(of: epoch)) && revision >= other.revision
    }
}
