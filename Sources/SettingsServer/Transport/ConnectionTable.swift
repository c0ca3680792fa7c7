import Platform

/// The connections of one loop, each at a place that it keeps. A place that is used again gets another generation, so that
/// events and tickets of the one before find nothing.
struct ConnectionTable {
    private var places: [Connection?] = []
    private var generations: [UInt32] = []
    private var free: [UInt32] = []

    private(set) var count = 0

    mutating func insert(_ socket: consuming Socket, _ peer: SocketAddress) -> Connection {
        let slot: UInt32
        if let reused = free.popLast() {
            slot = reused
        } else {
            slot = UInt32(places.count)
            places.append(nil)
            generations.append(0)
        }
        let connection = Connection(socket, peer, slot: slot, generation: generations[Int(slot)])
        places[Int(slot)] = connection
        count += 1
        return connection
    }

    mutating func remove(_ connection: Connection) {
        let place = Int(connection.slot)
        guard places[place] === connection else { return }
        places[place] = nil
        generations[place] &+= 1
        free.append(connection.slot)
        count -= 1
    }

    func find(slot: UInt32, generation: UInt32) -> Connection? {
        let place = Int(slot)
        guard place < places.count, generations[place] == generation else { return nil }
        return places[place]
    }

    /// By the name that epoll and the deadlines know it under.
    func find(_ name: UInt64) -> Connection? {
        find(slot: UInt32(truncatingIfNeeded: name), generation: UInt32(truncatingIfNeeded: name >> 32))
    }

    /// All there are, as of now.
    var all: [Connection] { places.compactMap(\.self) }
}
