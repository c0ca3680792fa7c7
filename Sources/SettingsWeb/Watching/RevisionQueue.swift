internal import HTTPServer
internal import SettingsAPI

/// The requests of one event loop, identified by tickets, that wait until the daemon has published the commit at a
/// cursor. A cursor is an epoch, which names a history, and a revision, which is the number of a commit. A request
/// demands the cursor with `Settings-At-Least: <cursor>`, or with `Settings-Fresh: true` the cursor of the newest
/// commit of all daemons that share the history. Owned by the event loop.
struct RevisionQueue {
    /// The cursor of each request; nil while the daemon asks the shared log for the newest commit.
    private var awaitedCursors: [Ticket: Cursor?] = [:]
    /// The result of the last comparison of all cursors with a published cursor: the epoch of the published cursor, and
    /// the lowest revision of this epoch that a request still awaits (nil if no request awaits a revision). A lower
    /// published revision needs no new comparison. `lastComparison` is nil if a cursor was added or changed since then.
    private var lastComparison: (epoch: Epoch, nextRevision: Revision?)?

    var isEmpty: Bool { awaitedCursors.isEmpty }

    /// Adds a request. The cursor is nil if the daemon does not know yet which commit is the newest.
    mutating func append(_ id: Ticket, until cursor: Cursor?) {
        awaitedCursors[id] = .some(cursor)
        lastComparison = nil
    }

    mutating func remove(_ id: Ticket) { awaitedCursors[id] = nil }

    /// Sets a later cursor for a request. Does nothing if the request already waits for this cursor or a later cursor.
    mutating func extend(_ id: Ticket, until cursor: Cursor) {
        guard let awaited = awaitedCursors[id] else { return }
        if let awaited, awaited.hasReached(cursor) { return }
        awaitedCursors[id] = .some(cursor)
        lastComparison = nil
    }

    /// Removes and returns at most `limit` requests whose cursor is not later than the published cursor.
    mutating func removeReached(at cursor: Cursor, atMost limit: Int) -> [Ticket] {
        if let lastComparison, lastComparison.epoch == cursor.epoch {
            guard let next = lastComparison.nextRevision, next <= cursor.revision else { return [] }
        }
        let reached = Array(
            awaitedCursors.lazy.filter { $0.value.map(cursor.hasReached) ?? false }.prefix(limit).map(\.key))
        for id in reached { awaitedCursors[id] = nil }
        // `isBase` compares the epochs, and ignores a digest of grants at the end of the other epoch.
        let remaining = awaitedCursors.values.lazy.compactMap(\.self).filter { cursor.epoch.isBase(of: $0.epoch) }
        lastComparison = (cursor.epoch, remaining.map(\.revision).min())
        return reached
    }
}

extension Cursor {
    /// True if the other cursor has the same epoch and is not later. If only one of the epochs has a digest of grants,
    /// as in a cursor for a caller that may not read everything, the digest is ignored.
    func hasReached(_ other: Cursor) -> Bool {
        (epoch.isBase(of: other.epoch) || other.epoch.isBase(of: epoch)) && revision >= other.revision
    }
}
