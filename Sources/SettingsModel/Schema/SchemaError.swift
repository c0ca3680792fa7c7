/// Why a document is no schema for settings: everything that is wrong with it.
public struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One thing that is wrong.
    public struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// Where in the document.
        public let pointer: JSONPointer
        /// The keyword that is wrong, or that is not one.
        public let keyword: String
        /// What is wrong and what to do.
        public let detail: String
        /// Whether the document uses something of JSON Schema that schemas for settings do not have: a keyword, a
        /// format, a reference elsewhere, an expression beyond the matcher. Otherwise the document contradicts
        /// JSON Schema or itself.
        public let isUnsupported: Bool

        init(_ pointer: JSONPointer, _ keyword: String, _ detail: String, isUnsupported: Bool = false) {
            self.pointer = pointer
            self.keyword = keyword
            self.detail = detail
            self.isUnsupported = isUnsupported
        }

        /// The detail after its place.
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

    init(problems: [Problem]) {
        self.problems = problems
    }

    /// The problems of a document, put in the order of their places in it.
    init(_ problems: [Problem], of document: JSONValue) {
        let places = problems.map { document.positions(along: $0.pointer) }
        let order = problems.indices.sorted { left, right in
            places[left] == places[right] ? left < right : places[left].lexicographicallyPrecedes(places[right])
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
