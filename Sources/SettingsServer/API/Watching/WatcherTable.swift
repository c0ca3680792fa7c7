/// Those who wait, by the places of their connections in the loop's table: a connection has one of them at most, since a
/// further request of it that only reads comes when that is answered.
struct WatcherTable {
    private var tickets: [Ticket?] = []
    private var watchers: [Watcher?] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Everybody who waits now.
    var all: [Ticket] { tickets.compactMap { $0 } }

    subscript(ticket: Ticket) -> Watcher? {
        get {
            let place = Int(ticket.slot)
            return place < tickets.count && tickets[place] == ticket ? watchers[place] : nil
        }
        _modify {
            let place = Int(ticket.slot)
            if place < tickets.count, tickets[place] == ticket {
                yield &watchers[place]
                guard watchers[place] == nil else { return }
                tickets[place] = nil
                count -= 1
                if count == 0 { (tickets, watchers) = ([], []) }
            } else {
                var added: Watcher?
                yield &added
                guard let added else { return }
                add(ticket, added, at: place)
            }
        }
    }

    private mutating func add(_ ticket: Ticket, _ watcher: Watcher, at place: Int) {
        while tickets.count <= place {
            tickets.append(nil)
            watchers.append(nil)
        }
        assert(tickets[place] == nil, "a connection waits for two things at once")
        if tickets[place] == nil { count += 1 }
        tickets[place] = ticket
        watchers[place] = watcher
    }

    /// Takes a watcher out.
    mutating func remove(_ ticket: Ticket) -> Watcher? {
        let place = Int(ticket.slot)
        guard place < tickets.count, tickets[place] == ticket, let watcher = watchers[place].take() else { return nil }
        tickets[place] = nil
        count -= 1
        if count == 0 { (tickets, watchers) = ([], []) }
        return watcher
    }
}
