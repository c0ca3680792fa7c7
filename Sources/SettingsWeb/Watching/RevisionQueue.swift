internal import HTTPServer
internal import SettingsAPI

/// The requests of one event loop, identified by tickets, that wait until the daemon has published a revision.
///
/// A request demands the revision with `Settings-At-Least: <cursor>`, or with `Settings-Fresh: true` for the newest
/// commit of all daemons that share the history. Owned by the event loop.
struct RevisionQueue {
    /// The cursor of each request; nil while the daemon asks the shared log for the newest commit.
    private var awaitedCursors: [Ticket: Cursor?] = [:]
    /// The lowest awaited revision of an epoch, or nil if no request waits for the epoch. A publication of a lower
    /// revision needs no search. The tuple is nil after a cursor was added.
    private var lastSearch: (epoch: Epoch, nextRevision: Revision?)?

    var isEmpty: Bool { awaitedCursors.isEmpty }

    /// Adds a request. Its cursor is nil if the daemon does not know yet which commit is the newest.
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
    /// True if the other cursor has the same epoch and is not later. Epochs are compared without the digest of grants,
    /// which the epoch in a cursor of a caller with limited grants has at its end.
    func hasReached(_ other: Cursor) -> Bool {
        (epoch.isBase(of: other.epoch) || other.epoch.isBase(of: epoch)) && revision >= other.revision
    }
}
