/// Those to be looked at, first come first served.
struct DueLine {
    private var tickets: [Ticket] = []
    private var start = 0

    var isEmpty: Bool { start == tickets.count }

    mutating func append(_ ticket: Ticket) {
        tickets.append(ticket)
    }

    mutating func popFirst() -> Ticket? {
        guard start < tickets.count else { return nil }
        defer {
            start += 1
            if start == tickets.count { (tickets, start) = ([], 0) }
        }
        return tickets[start]
    }
}
