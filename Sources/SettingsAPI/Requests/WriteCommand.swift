package import SettingsModel

/// The change that a write requests. A scheduled write stores its command as JSON. The enum is indirect, so that a copy
/// of a command copies only a reference.
package indirect enum WriteCommand: Equatable, Sendable {
    /// One operation on one key.
    case setting(Transaction.Operation)
    /// Merges a map into the stored values, as a JSON Merge Patch (RFC 7396).
    case mergeSuite(SuiteName, JSONObject)
    /// Replaces all stored values with a map.
    case replaceSuite(SuiteName, JSONObject)
    /// Removes the stored values of the keys that begin with a prefix.
    case resetSuite(SuiteName, prefix: String)
    /// Removes the suite and its schema.
    case dropSuite(SuiteName)
    /// Sets the schema. The policy decides about stored values that the schema does not allow.
    case setSchema(SuiteName, Schema, onConflict: ConflictPolicy)
    case removeSchema(SuiteName)
    /// Applies several operations, all or none.
    case transaction(Transaction)
    /// Undoes a commit in one suite or, without a suite, in all suites that the commit changed. The policy applies if
    /// the commit changed a schema.
    case undo(UndoRequest, of: SuiteName?, onConflict: ConflictPolicy)
    /// Restores the values of a moment in the past. If the present schema does not allow a value, `skipsConflicts`
    /// leaves the value out; otherwise the write is refused.
    case restore(SuiteName, RestoreRequest, skipsConflicts: Bool)
}

extension WriteCommand: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        // Only a transaction has the member `do`.
        guard !reader.has("do") else {
            self = .transaction(try Transaction(reader))
            return
        }
        switch try reader.required("op") as String {
        case "mergeSuite": self = .mergeSuite(try reader.required("suite"), try Self.values(in: reader))
        case "replaceSuite": self = .replaceSuite(try reader.required("suite"), try Self.values(in: reader))
        case "resetSuite":
            self = .resetSuite(try reader.required("suite"), prefix: try reader.optional("prefix") ?? "")
        case "dropSuite": self = .dropSuite(try reader.required("suite"))
        case "setSchema":
            self = .setSchema(
                try reader.required("suite"), try Self.schema(in: reader), onConflict: try Self.policy(in: reader))
        case "removeSchema": self = .removeSchema(try reader.required("suite"))
        case "undo":
            self = .undo(
                try UndoRequest(reader), of: try reader.optional("suite"), onConflict: try Self.policy(in: reader))
        case "restore":
            // The only value of `onConflict` for a restore is `skip`.
            self = .restore(
                try reader.required("suite"), try RestoreRequest(reader), skipsConflicts: reader.has("onConflict"))
        default: self = .setting(try Transaction.Operation(reader))
        }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        switch self {
        case .setting(let operation): operation.writeMembers(to: &writer)
        case .mergeSuite(let suite, let values):
            writer.begin("mergeSuite", suite)
            writer.member("values", JSONValue.object(values))
        case .replaceSuite(let suite, let values):
            writer.begin("replaceSuite", suite)
            writer.member("values", JSONValue.object(values))
        case .resetSuite(let suite, let prefix):
            writer.begin("resetSuite", suite)
            if !prefix.isEmpty { writer.member("prefix", prefix) }
        case .dropSuite(let suite): writer.begin("dropSuite", suite)
        case .setSchema(let suite, let schema, let policy):
            writer.begin("setSchema", suite)
            writer.member(schema: schema.document, orText: schema.text)
            writer.member(policy)
        case .removeSchema(let suite): writer.begin("removeSchema", suite)
        case .transaction(let transaction): transaction.writeMembers(to: &writer)
        case .undo(let undo, let suite, let policy):
            writer.begin("undo", suite)
            undo.writeMembers(to: &writer)
            writer.member(policy)
        case .restore(let suite, let restore, let skipsConflicts):
            writer.begin("restore", suite)
            restore.writeMembers(to: &writer)
            if skipsConflicts { writer.member("onConflict", "skip") }
        }
    }

    private static func values(in reader: ObjectReader) throws(BodyError) -> JSONObject {
        try reader.required("values") { json throws(BodyError) in try json.members }
    }

    private static func schema(in reader: ObjectReader) throws(BodyError) -> Schema {
        // A command has either `schemaText`, the schema as the client wrote it, or `schema`, a JSON object.
        let text: String? = try reader.optional("schemaText")
        let document = try reader.schemaDocument(fromText: text)
        do {
            return try Schema(stored: document, text: text)
        } catch {
            throw BodyError("must be a valid schema: \(error)").inMember("schema")
        }
    }

    private static func policy(in reader: ObjectReader) throws(BodyError) -> ConflictPolicy {
        guard let word: String = try reader.optional("onConflict") else { return .refuse }
        guard let policy = ConflictPolicy(rawValue: word) else {
            throw BodyError.unknown(word: word, among: ["refuse", "keep", "reset"]).inMember("onConflict")
        }
        return policy
    }
}

extension JSONWriter {
    fileprivate mutating func begin(_ operation: String, _ suite: SuiteName?) {
        member("op", operation)
        member("suite", suite)
    }

    fileprivate mutating func member(_ policy: ConflictPolicy) {
        if policy != .refuse { member("onConflict", policy.rawValue) }
    }
}
