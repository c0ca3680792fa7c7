public import SettingsModel

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
