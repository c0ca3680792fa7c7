/// How recently the daemon has seen a client. The order of the cases is the order in which clients are dropped.
enum ClientPresence: Int, Sendable {
    /// The client has not been seen for `clients.forgetSeconds`.
    case gone
    /// The client was seen, but no watch of the client waits.
    case idle
    /// A watch of the client waits, so the client is seen all the time.
    case waiting
}

/// A doubly linked list of clients, in the order in which they were appended. The links are in the elements, so that
/// each operation takes constant time and allocates nothing.
struct ClientList: Sendable {
    /// The index that stands for no client.
    static let none: Int32 = -1

    struct Links: Sendable {
        fileprivate var previous = ClientList.none
        fileprivate(set) var next = ClientList.none
    }

    /// A client is in a list of its suite, and in a list of all clients.
    enum Scope: Int, Sendable {
        case suite, all
    }

    private(set) var first = ClientList.none
    private(set) var last = ClientList.none
    private(set) var count = 0

    mutating func append(_ index: Int32, in slots: inout [ClientTable.Slot], _ scope: Scope) {
        slots[Int(index)].links[scope.rawValue] = Links(previous: last)
        if last == Self.none { first = index } else { slots[Int(last)].links[scope.rawValue].next = index }
        last = index
        count += 1
    }

    mutating func remove(_ index: Int32, in slots: inout [ClientTable.Slot], _ scope: Scope) {
        let links = slots[Int(index)].links[scope.rawValue]
        if links.previous == Self.none {
            first = links.next
        } else {
            slots[Int(links.previous)].links[scope.rawValue].next = links.next
        }
        if links.next == Self.none {
            last = links.previous
        } else {
            slots[Int(links.next)].links[scope.rawValue].previous = links.previous
        }
        count -= 1
    }
}

/// The clients of a suite, or all clients, by their presence. Each list begins with the client that was seen longest
/// ago; the list `waiting` begins with the client whose last report is the oldest.
struct ClientLists: Sendable {
    private var lists = InlineArray<3, ClientList>(repeating: ClientList())

    subscript(presence: ClientPresence) -> ClientList {
        get { lists[presence.rawValue] }
        set { lists[presence.rawValue] = newValue }
    }

    /// The number of clients that are not gone.
    var presentCount: Int { self[.idle].count + self[.waiting].count }
    var count: Int { presentCount + self[.gone].count }

    /// The client that was seen longest ago; `ClientList.none` if there is no client.
    var oldest: Int32 {
        if self[.gone].count > 0 { return self[.gone].first }
        return self[.idle].count > 0 ? self[.idle].first : self[.waiting].first
    }
}
