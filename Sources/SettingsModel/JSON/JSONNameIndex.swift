/// Where each name of a larger object stands: a hash table of positions, probed linearly.
///
/// Positions only, not names: the members hold those already. The hash is seeded for each process, so nobody can
/// prepare names that all fall into one slot.
struct JSONNameIndex: Sendable {
    /// An object of up to this many members is searched by looking at each.
    static let threshold = 16

    /// A position in the members plus one, or zero where the slot is free. The count is a power of two and at least
    /// twice the number of members, so that probing ends soon.
    private var slots: [UInt32]

    init(_ members: [JSONObject.Member]) {
        slots = []
        rebuild(for: members)
    }

    /// The position of a name among `members`, which must be those this index was kept with.
    func position(of name: String, in members: [JSONObject.Member]) -> Int? {
        var slot = firstSlot(of: name)
        while slots[slot] != 0 {
            let position = Int(slots[slot]) - 1
            if members[position].name.hasSameBytes(as: name) { return position }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Takes in the last of `members`, whose name must be new.
    mutating func insertLast(of members: [JSONObject.Member]) {
        if members.count * 2 > slots.count {
            rebuild(for: members)
        } else {
            insert(members.count - 1, of: members)
        }
    }

    private mutating func rebuild(for members: [JSONObject.Member]) {
        var capacity = 64
        while capacity < members.count * 4 { capacity *= 2 }
        slots = Array(repeating: 0, count: capacity)
        for position in members.indices { insert(position, of: members) }
    }

    private mutating func insert(_ position: Int, of members: [JSONObject.Member]) {
        var slot = firstSlot(of: members[position].name)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = UInt32(position + 1)
    }

    private func firstSlot(of name: String) -> Int {
        var hasher = Hasher()
        name.hashBytes(into: &hasher)
        return hasher.finalize() & (slots.count - 1)
    }
}
