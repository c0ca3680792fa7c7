public import SettingsModel

/// A list of operations on keys of one or several suites. The daemon carries out all operations, or none.
public struct Transaction: Equatable, Sendable {
    /// The conditions. All must hold.
    public var conditions: [Condition]
    /// The operations in order. Each operation applies to the result of the operations before it.
    public var operations: [Operation]

    /// Makes a transaction.
    public init(if conditions: [Condition] = [], do operations: [Operation]) {
        self.conditions = conditions
        self.operations = operations
    }
}

extension Transaction: JSONBody {
    package init(json: JSONValue) throws(BodyError) {
        try self.init(ObjectReader(json, only: ["if", "do"]))
    }

    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(if: try reader.list("if"), do: try reader.required("do"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("if", unlessEmpty: conditions)
        writer.member("do", operations)
    }
}

extension Transaction {
    /// A condition of a transaction.
    public enum Condition: Equatable, Sendable {
        /// The suite has this revision. The revision of a suite that does not exist is zero.
        case suite(SuiteName, Revision)
        /// The setting passes the test.
        case setting(SuiteName, KeyName, Test)

        /// A test of one setting.
        public enum Test: Equatable, Sendable {
            /// The setting has this revision.
            case revision(Revision)
            /// `true`: a value is stored. `false`: no value is stored.
            case stored(Bool)
            /// The effective value is mathematically equal to this value.
            case value(JSONValue)
        }
    }
}

extension Transaction.Condition: JSONReadable, JSONWritable {
    private static let testNames = ["revision", "stored", "value"]

    package init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json, only: ["suite", "key"] + Self.testNames)
        let suite: SuiteName = try reader.required("suite")
        let givenTests = Self.testNames.filter(reader.has)
        guard let test = givenTests.first else { throw BodyError("must have a member revision, stored or value") }
        if givenTests.count > 1 {
            throw BodyError(
                "must have only one of revision, stored and value (got \(givenTests.joined(separator: " and ")))")
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

    package func write(to writer: inout JSONWriter) {
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
    /// An operation on one key.
    public struct Operation: Equatable, Sendable {
        /// The suite.
        public var suite: SuiteName
        /// The key.
        public var key: KeyName
        /// The action.
        public var action: Action

        /// An action on a key.
        public enum Action: Equatable, Sendable {
            /// Stores a value.
            case set(JSONValue)
            /// Removes the stored value.
            case delete
            /// Changes the effective value in place.
            case change(InPlaceOperation)
        }

        /// Makes an operation.
        public init(suite: SuiteName, key: KeyName, _ action: Action) {
            self.suite = suite
            self.key = key
            self.action = action
        }
    }
}

extension Transaction.Operation: JSONBody {
    private static let commonMembers = ["op", "suite", "key"]
    private static let operationNames = ["set", "delete"] + InPlaceOperation.Word.allCases.map(\.rawValue)

    package init(_ reader: ObjectReader) throws(BodyError) {
        // Without the member `op`, the check reports a misspelt member, such as `opp`, instead of the missing `op`.
        if !reader.has("op") {
            try reader.allow(only: Self.commonMembers + InPlaceOperation.Word.allCases.compactMap(\.operand))
        }
        let op: String = try reader.required("op")
        switch op {
        case "set":
            try reader.allow(only: Self.commonMembers + ["value"])
            action = .set(try reader.required("value"))
        case "delete":
            try reader.allow(only: Self.commonMembers)
            action = .delete
        default:
            guard let word = InPlaceOperation.Word(rawValue: op) else {
                throw BodyError.unknown(word: op, among: Self.operationNames).inMember("op")
            }
            try reader.allow(only: Self.commonMembers + [word.operand].compactMap(\.self))
            action = .change(try InPlaceOperation(word, reader))
        }
        suite = try reader.required("suite")
        key = try reader.required("key")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        switch action {
        case .set: writer.member("op", "set")
        case .delete: writer.member("op", "delete")
        case .change(let operation): writer.member("op", operation.name)
        }
        writer.member("suite", suite)
        writer.member("key", key)
        switch action {
        case .set(let value): writer.member("value", value)
        case .delete: break
        case .change(let operation): operation.writeOperand(to: &writer)
        }
    }
}
