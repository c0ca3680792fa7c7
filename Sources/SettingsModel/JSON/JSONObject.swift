/// The members of a JSON object: named values in their order, each name once.
///
/// Names are told apart by their UTF-8 bytes. Looking a name up scans a small object and asks an index in a larger
/// one, so no operation on one member takes longer than linear time, and none but removal takes that with an index.
public struct JSONObject: Sendable {
    /// One name with its value.
    public struct Member: Sendable {
        /// The name, unique in its object by its UTF-8 bytes.
        public let name: String
        /// What the name stands for.
        public var value: JSONValue

        /// A member.
        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The members in their order.
    public private(set) var members: [Member]

    /// Where each name stands, kept while there are enough members for it to pay.
    private var index: JSONNameIndex?

    /// An object without members.
    public init() {
        members = []
        index = nil
    }

    /// An object of these members; `nil` if two of them have one name.
    public init?(_ members: [Member]) {
        self.init()
        self.members.reserveCapacity(members.count)
        for member in members {
            guard append(member) else { return nil }
        }
    }

    /// How many members there are.
    public var count: Int {
        members.count
    }

    /// Whether there are no members.
    public var isEmpty: Bool {
        members.isEmpty
    }

    /// The names in the order of the members.
    public var names: some Sequence<String> {
        members.lazy.map(\.name)
    }

    /// The value of a name. A new name goes last, a known one keeps its place, assigning nil removes it.
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

    /// Adds a member at the end unless its name is taken; says whether it did.
    @discardableResult
    public mutating func append(_ member: Member) -> Bool {
        guard position(of: member.name) == nil else { return false }
        appendNew(member)
        return true
    }

    /// Removes every member that the predicate picks, in one pass; none if the predicate throws.
    public mutating func removeAll(where shouldRemove: (Member) throws -> Bool) rethrows {
        members = try members.filter { try !shouldRemove($0) }
        rebuildIndex()
    }

    /// The same names in the same order with other values.
    public func mapValues<Failure: Error>(
        _ transform: (JSONValue) throws(Failure) -> JSONValue
    ) throws(Failure) -> JSONObject {
        var mapped = self
        for position in members.indices {
            mapped.members[position].value = try transform(members[position].value)
        }
        return mapped
    }

    /// Where the member of this name stands in ``members``.
    func position(of name: String) -> Int? {
        if let index { return index.position(of: name, in: members) }
        return members.firstIndex { $0.name.hasSameBytes(as: name) }
    }

    /// Adds a member whose name is known to be new.
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
        members.remove(at: position)
        rebuildIndex()
    }

    private mutating func rebuildIndex() {
        index = members.count > JSONNameIndex.threshold ? JSONNameIndex(members) : nil
    }
}

extension JSONObject: Sequence {
    /// Goes through the members in their order.
    public func makeIterator() -> IndexingIterator<[Member]> {
        members.makeIterator()
    }

    /// The number of members.
    public var underestimatedCount: Int {
        members.count
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// An object with its members in the order of the literal. The last of two members with one name holds.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init()
        for (name, value) in elements { self[name] = value }
    }
}

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
