internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI

/// A request that is held until the daemon has a place in history.
struct HeldRequest {
    let head: RequestHead
    let bytes: [UInt8]
    /// Empty if the body is long: the exchange has it then.
    let body: [UInt8]
    let exchange: Exchange
    /// Nil without access control.
    let caller: Caller?
    let client: ClientCounts.Client
    /// The charge for the copies of head and body.
    let charge: MemoryBudget.Reservation
    /// Nil until the end of the history is known.
    fileprivate(set) var place: Cursor?
}

/// A table of the held requests of one loop, with those found whose place is reached.
struct HeldRequests {
    private var requests: [Ticket: HeldRequest] = [:]
    /// The epoch of the last search, and the first revision that a request waits for in it: until that is published, there is
    /// nothing to find. Nil once another place is to be reached.
    private var searched: (epoch: Epoch, next: Revision?)?

    var isEmpty: Bool { requests.isEmpty }
    var all: [HeldRequest] { Array(requests.values) }

    mutating func insert(_ request: HeldRequest) {
        requests[request.exchange.ticket] = request
        searched = nil
    }

    mutating func remove(_ ticket: Ticket) -> HeldRequest? {
        requests.removeValue(forKey: ticket)
    }

    /// Has a request wait for the end of the history, unless the place that it asked for itself comes later.
    mutating func wait(_ ticket: Ticket, for end: Cursor) {
        if let place = requests[ticket]?.place, place.hasReached(end) { return }
        requests[ticket]?.place = end
        searched = nil
    }

    /// Removes and returns requests whose place is reached, up to a number of them.
    mutating func takeReached(at cursor: Cursor, most: Int) -> [HeldRequest] {
        if let searched, searched.epoch == cursor.epoch {
            guard let next = searched.next, next <= cursor.revision else { return [] }
        }
        let reached = requests.values.lazy.filter { $0.place.map(cursor.hasReached) ?? false }.prefix(most)
        let found = Array(reached)
        for request in found { requests[request.exchange.ticket] = nil }
        let rest = requests.values.compactMap(\.place).filter { cursor.epoch.isBase(of: $0.epoch) }
        searched = (cursor.epoch, rest.map(\.revision).min())
        return found
    }
}

extension Cursor {
    /// True if another place is not later than this one. Places of two epochs cannot be compared. A digest of grants in one
    /// of the cursors does not matter.
    func hasReached(_ other: Cursor) -> Bool {
        (epoch.isBase(of: other.epoch) || other.epoch.isBase(of: epoch)) && revision >= other.revision
    }
}
