public import SettingsModel

extension Transaction {
    /// What a transaction does to one key.
    public struct Operation: Hashable, Sendable {
        /// The suite.
        public var suite: SuiteName
        /// The key.
        public var key: KeyName
        /// What is done to it.
        public var action: Action

        /// What is done to a key.
        public enum Action: Hashable, Sendable {
            /// Stores a value.
            case set(JSONValue)
            /// Removes what is stored.
            case delete
            /// Changes the effective value in place.
            case change(InPlaceOperation)
        }

        /// An operation.
        public init(suite: SuiteName, key: KeyName, _ action: Action) {
            self.suite = suite
            self.key = key
            self.action = action
        }
    }
}

extension Transaction.Operation: JSONReadable, JSONWritable {
    private static let address = ["op", "suite", "key"]
    private static let words = ["set", "delete"] + InPlaceOperation.Word.allCases.map(\.rawValue)

    /// Reads one operation; a member that it does not have is an error.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        if !reader.has("op") {
            try reader.allow(only: Self.address + InPlaceOperation.Word.allCases.compactMap(\.operand))
        }
        let op: String = try reader.required("op")
        switch op {
        case "set":
            try reader.allow(only: Self.address + ["value"])
            action = .set(try reader.required("value"))
        case "delete":
            try reader.allow(only: Self.address)
            action = .delete
        default:
            guard let word = InPlaceOperation.Word(rawValue: op) else {
                throw BodyError.unknown("op", op, among: Self.words).under("op")
            }
            try reader.allow(only: Self.address + [word.operand].compactMap(\.self))
            action = .change(try InPlaceOperation(word, reader))
        }
        suite = try reader.required("suite")
        key = try reader.required("key")
    }

    /// Writes the operation.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch action {
        case .set: writer.member("op", "set" as String)
        case .delete: writer.member("op", "delete" as String)
        case .change(let operation): writer.member("op", operation.name)
        }
        writer.member("suite", suite)
        writer.member("key", key)
        switch action {
        case .set(let value): writer.member("value", value)
        case .delete: break
        case .change(let operation): operation.writeOperand(to: &writer)
        }
        writer.endObject()
    }
}
