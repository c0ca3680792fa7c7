public import SettingsModel

/// Several operations on keys of one or several suites that are done together or not at all.
public struct Transaction: Hashable, Sendable {
    /// What has to hold for any of it to be done.
    public var conditions: [Condition]
    /// What is done, in this order, each seeing what the one before did.
    public var operations: [Operation]

    /// A transaction.
    public init(if conditions: [Condition] = [], do operations: [Operation]) {
        self.conditions = conditions
        self.operations = operations
    }
}

extension Transaction: JSONReadable, JSONWritable {
    /// Reads a request; a member that transactions do not have is an error. Only `if` may be left out.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json, only: ["if", "do"])
        self.init(if: try reader.list("if"), do: try reader.required("do"))
    }

    /// Writes the request.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("if", unlessEmpty: conditions)
        writer.member("do", operations)
        writer.endObject()
    }
}

extension Transaction {
    /// What has to hold for a transaction to be done.
    public enum Condition: Hashable, Sendable {
        /// The suite has this revision; zero is that of a suite that does not exist.
        case suite(SuiteName, Revision)
        /// The setting is as the test says.
        case setting(SuiteName, KeyName, Test)

        /// What is asked of one setting.
        public enum Test: Hashable, Sendable {
            /// It has this revision.
            case revision(Revision)
            /// Something is stored for it, or nothing is.
            case stored(Bool)
            /// Its effective value is mathematically equal to this one; never so while it has none.
            case value(JSONValue)
        }
    }
}

extension Transaction.Condition: JSONReadable, JSONWritable {
    private static let tests = ["revision", "stored", "value"]

    /// Reads one condition; a member that conditions do not have is an error, and so is more than one test.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json, only: ["suite", "key"] + Self.tests)
        let suite: SuiteName = try reader.required("suite")
        let given = Self.tests.filter(reader.has)
        guard let test = given.first else { throw BodyError("expected one of the members revision, stored, value") }
        if given.count > 1 {
            throw BodyError("expected only one of revision, stored, value, found \(given.joined(separator: " and "))")
        }
        guard reader.has("key") || test != "revision" else {
            self = .suite(suite, try reader.required("revision"))
            return
        }
        let key: KeyName = try reader.required("key")
        switch test {
        case "revision": self = .setting(suite, key, .revision(try reader.required(test)))
        case "stored": self = .setting(suite, key, .stored(try reader.required(test)))
        default: self = .setting(suite, key, .value(try reader.required(test)))
        }
    }

    /// Writes the condition.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .suite(let suite, let revision):
            writer.member("suite", suite)
            writer.member("revision", revision)
        case .setting(let suite, let key, let test):
            writer.member("suite", suite)
            writer.member("key", key)
            switch test {
            case .revision(let revision): writer.member("revision", revision)
            case .stored(let isStored): writer.member("stored", isStored)
            case .value(let value): writer.member("value", value)
            }
        }
        writer.endObject()
    }
}

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
