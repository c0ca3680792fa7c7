/// An error that lists everything wrong with a schema document.
public struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A problem at one location of the document.
    public struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// The location in the document.
        public let pointer: JSONPointer
        /// The keyword that is wrong, or that is unknown.
        public let keyword: String
        /// The cause and what to do.
        public let detail: String
        /// True if the document uses a part of JSON Schema that schemas for settings do not have: a keyword, a format, a
        /// reference elsewhere, an expression beyond the matcher. Otherwise it contradicts JSON Schema or itself.
        public let isUnsupported: Bool

        package init(_ pointer: JSONPointer, _ keyword: String, _ detail: String, isUnsupported: Bool = false) {
            self.pointer = pointer
            self.keyword = keyword
            self.detail = detail
            self.isUnsupported = isUnsupported
        }

        /// The location and the detail.
        public var description: String {
            "\(pointer == .root ? "the schema" : pointer.description): \(detail)"
        }
    }

    /// Each problem, in the order of the document.
    public let problems: [Problem]

    /// All problems, one a line.
    public var description: String {
        problems.map(\.description).joined(separator: "\n")
    }

    package init(problems: [Problem]) {
        self.problems = problems
    }

    package init(_ pointer: JSONPointer, _ keyword: String, _ detail: String) {
        problems = [Problem(pointer, keyword, detail)]
    }

    /// Sorts problems by their locations in the document.
    init(_ problems: [Problem], of document: JSONValue) {
        let locations = problems.map { document.positions(along: $0.pointer) }
        let order = problems.indices.sorted { left, right in
            locations[left] == locations[right]
                ? left < right : locations[left].lexicographicallyPrecedes(locations[right])
        }
        self.problems = order.map { problems[$0] }
    }
}

extension JSONValue {
    /// The position of each step of a pointer among its neighbours, as far as the steps lead.
    fileprivate func positions(along pointer: JSONPointer) -> [Int] {
        var positions: [Int] = []
        var value: JSONValue? = self
        for token in pointer.tokens {
            guard let position = value?.object?.position(of: token) ?? JSONPointer.arrayIndex(token) else { break }
            positions.append(position)
            value = value?[JSONPointer([token])]
        }
        return positions
    }
}

/// A rule of a schema that a value breaks. For a secret it says what is demanded but not what was there.
public struct Violation: Hashable, Sendable {
    /// The suite, where there may be several.
    public var suite: String?
    /// The key whose value breaks the rule; nil for the suite as a whole.
    public var key: String?
    /// The location inside the key's value.
    public var pointer: JSONPointer
    /// The keyword of the schema, as `maximum`.
    public let keyword: String
    /// The cause with its numbers, as `must be at most 1 (got 1.5)`.
    public let detail: String
    /// The keyword's value in the schema, if it is short.
    public let expected: JSONValue?
    /// The value that was found, if it is short and no secret.
    public let actual: JSONValue?

    package init(
        suite: String? = nil, key: String? = nil, pointer: JSONPointer = .root, keyword: String, detail: String,
        expected: JSONValue? = nil, actual: JSONValue? = nil
    ) {
        self.suite = suite
        self.key = key
        self.pointer = pointer
        self.keyword = keyword
        self.detail = detail
        self.expected = expected
        self.actual = actual
    }

    /// The detail with its subject, as `player.volume: must be at most 1 (got 1.5)`.
    public var sentence: String {
        "\(key ?? suite ?? "value")\(pointer == .root ? "" : " at \(pointer)"): \(detail)"
    }

    /// The detail. If the violation concerns a part of the value, the pointer precedes the detail.
    @inline(never)
    var detailWithLocation: String {
        pointer == .root ? detail : "at \(pointer): \(detail)"
    }
}
