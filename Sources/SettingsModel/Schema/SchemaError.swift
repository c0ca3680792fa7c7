/// The problems of a schema document.
public struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A problem at one position of the document.
    public struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// The position in the document.
        public let pointer: JSONPointer
        /// The incorrect or unknown keyword.
        public let keyword: String
        /// The cause, and what to do.
        public let detail: String
        /// True if the document uses a feature of JSON Schema that schemas of settings do not support: a keyword, a
        /// format, a reference to another document, or a pattern that cannot be matched in linear time. False if the
        /// document is not a valid JSON Schema, or contradicts itself.
        public let isUnsupported: Bool

        package init(_ pointer: JSONPointer, _ keyword: String, _ detail: String, isUnsupported: Bool = false) {
            self.pointer = pointer
            self.keyword = keyword
            self.detail = detail
            self.isUnsupported = isUnsupported
        }

        /// The position and the detail.
        public var description: String {
            "\(pointer == .root ? "the schema" : pointer.description): \(detail)"
        }
    }

    /// The problems in the order of the document.
    public let problems: [Problem]

    /// One line for each problem.
    public var description: String {
        problems.map(\.description).joined(separator: "\n")
    }

    package init(problems: [Problem]) {
        self.problems = problems
    }

    package init(_ pointer: JSONPointer, _ keyword: String, _ detail: String) {
        problems = [Problem(pointer, keyword, detail)]
    }

    /// Sorts problems by their positions in the document.
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
    /// The index of each token of a pointer among the members or elements at its level. Ends at the first token that
    /// does not exist in the value.
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

/// A rule of a schema that a value violates. The violation of a rule by a secret does not contain the value.
public struct Violation: Hashable, Sendable {
    /// The suite; nil if the name of the suite was not known when the value was checked.
    public var suite: String?
    /// The key whose value violates the rule; nil for a rule about the suite as a whole.
    public var key: String?
    /// The position inside the value of the key.
    public var pointer: JSONPointer
    /// The keyword of the rule, such as `maximum`.
    public let keyword: String
    /// The rule with its numbers, such as `must be at most 1 (got 1.5)`.
    public let detail: String
    /// The value of the keyword in the schema; nil if it is long.
    public let expected: JSONValue?
    /// The refused value; nil if it is long or secret.
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

    /// The key or the suite with the detail, such as `player.volume: must be at most 1 (got 1.5)`.
    public var sentence: String {
        "\(key ?? suite ?? "value")\(pointer == .root ? "" : " at \(pointer)"): \(detail)"
    }

    /// The detail. If the violation concerns a part of the value, the pointer precedes the detail.
    @inline(never)
    var detailWithLocation: String {
        pointer == .root ? detail : "at \(pointer): \(detail)"
    }
}
