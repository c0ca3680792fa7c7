/// A JSON object. It keeps the order of its members, and has each name at most once. Names are compared by their UTF-8
/// bytes.
///
/// A small object is searched linearly. A larger object has an index of its names, so only the removal of a member
/// takes linear time.
public struct JSONObject: Sendable {
    /// A name with its value.
    public struct Member: Sendable {
        /// The name. No other member of the object has a name with the same UTF-8 bytes.
        public let name: String
        /// The value.
        public var value: JSONValue

        /// Makes a member.
        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The members in order.
    package private(set) var members: [Member]

    /// The positions of the names; nil for an object that is small enough for a linear search.
    private var index: JSONNameIndex?

    /// Makes an object without members.
    public init() {
        members = []
    }

    /// Makes an object from members. Returns `nil` if two members have the same name.
    public init?(_ members: [Member]) {
        self.init()
        self.members.reserveCapacity(members.count)
        for member in members {
            guard append(member) else { return nil }
        }
    }

    /// The number of members.
    public var count: Int {
        members.count
    }

    /// True if the object has no members.
    public var isEmpty: Bool {
        members.isEmpty
    }

    /// The names in the order of the members.
    public var names: some Sequence<String> {
        members.lazy.map(\.name)
    }

    /// The value of a name. Setting a value replaces the value of an existing member and keeps its position, or appends
    /// a new member. Setting nil removes the member.
    public subscript(name: String) -> JSONValue? {
        get {
            position(of: name).map { members[$0].value }
        }
        set {
            switch (position(of: name), newValue) {
            case (let position?, let value?): members[position].value = value
            case (let position?, nil): remove(at: position)
            case (nil, let value?): appendNew(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    /// Appends a member. If the object already has the name, returns false and changes nothing.
    @discardableResult
    package mutating func append(_ member: Member) -> Bool {
        guard position(of: member.name) == nil else { return false }
        appendNew(member)
        return true
    }

    /// Removes the members for which a predicate returns true. If the predicate throws, removes no member.
    package mutating func removeAll(where shouldRemove: (Member) throws -> Bool) rethrows {
        members = try members.filter { try !shouldRemove($0) }
        rebuildIndex()
    }

    /// Returns an object with the same names in the same order and with other values.
    package func mapValues<Failure: Error>(
        _ transform: (JSONValue) throws(Failure) -> JSONValue
    ) throws(Failure) -> JSONObject {
        var mapped = self
        for position in members.indices {
            mapped.members[position].value = try transform(members[position].value)
        }
        return mapped
    }

    /// Returns the position of a name in ``members``. Not inlined, because inlining it at its many call sites would
    /// enlarge the program.
    @inline(never)
    func position(of name: String) -> Int? {
        if let index { return index.position(of: name, in: members) }
        let wanted = name.utf8Span.span
        for position in members.indices where members[position].name.utf8.count == wanted.count {
            if members[position].name.utf8Span.span.hasSameBytes(as: wanted) { return position }
        }
        return nil
    }

    /// Appends a member. The object must not have the name yet.
    mutating func appendNew(_ member: Member) {
        if members.isEmpty { members.reserveCapacity(4) }
        members.append(member)
        if index != nil {
            index?.insertLast(of: members)
        } else if members.count > JSONNameIndex.threshold {
            index = JSONNameIndex(members)
        }
    }

    private mutating func remove(at position: Int) {
        index?.remove(position, of: members)
        members.remove(at: position)
        if members.count <= JSONNameIndex.threshold { index = nil }
    }

    private mutating func rebuildIndex() {
        index = members.count > JSONNameIndex.threshold ? JSONNameIndex(members) : nil
    }
}

extension JSONObject: Sequence {
    /// Makes an iterator over the members in order.
    public func makeIterator() -> IndexingIterator<[Member]> {
        members.makeIterator()
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Makes an object with its members in the order of the literal. If the literal repeats a name, the last value
    /// counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(literal: elements)
    }

    init(literal elements: [(String, JSONValue)]) {
        self.init()
        for (name, value) in elements { self[name] = value }
    }
}

/// A hash table with linear probing that maps the names of a large object to their positions.
///
/// The table stores positions only, because the members store the names. Each process uses a random seed for the hash,
/// so a client cannot prepare names that all hash to the same slot.
struct JSONNameIndex: Sendable {
    /// The maximum number of members of an object without an index.
    static let threshold = 16

    /// A position plus one, or zero for a free slot. The number of slots is a power of two, and at least twice the
    /// number of members.
    private var slots: [UInt32]

    init(_ members: [JSONObject.Member]) {
        slots = []
        rebuild(for: members)
    }

    /// Returns the position of a name. `members` must be the members from which this index was built.
    func position(of name: String, in members: [JSONObject.Member]) -> Int? {
        var slot = firstSlot(of: name)
        while slots[slot] != 0 {
            let position = Int(slots[slot]) - 1
            if members[position].name.hasSameBytes(as: name) { return position }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Adds the last member. Its name must be new.
    mutating func insertLast(of members: [JSONObject.Member]) {
        if members.count * 2 > slots.count {
            rebuild(for: members)
        } else {
            insert(members.count - 1, of: members)
        }
    }

    /// Removes a member from the index, and decrements the positions of the members after it. The calling code
    /// removes the member from `members` afterwards.
    mutating func remove(_ position: Int, of members: [JSONObject.Member]) {
        var hole = firstSlot(of: members[position].name)
        while slots[hole] != UInt32(position + 1) { hole = (hole + 1) & (slots.count - 1) }
        // Linear probing may have placed later entries behind the removed entry. The loop moves these entries back, so
        // that lookups still find them.
        var slot = (hole + 1) & (slots.count - 1)
        while slots[slot] != 0 {
            let first = firstSlot(of: members[Int(slots[slot]) - 1].name)
            if (slot &- first) & (slots.count - 1) >= (slot &- hole) & (slots.count - 1) {
                slots[hole] = slots[slot]
                hole = slot
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        slots[hole] = 0
        let removed = UInt32(position + 1)
        for slot in slots.indices { slots[slot] &-= slots[slot] > removed ? 1 : 0 }
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
