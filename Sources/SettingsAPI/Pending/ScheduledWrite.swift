package import SettingsModel

/// A write that the daemon will carry out later, with its preconditions and the rights of its caller.
package struct ScheduledWrite: Equatable, Sendable {
    /// The operations. If there are several operations or conditions, the write is a transaction, and each operation has
    /// the case `setting`.
    package var operations: [ScheduledOperation]
    package var conditions: [Transaction.Condition]
    package let guards: [WriteGuard]
    /// True if the write may change keys that the schema locks.
    package let overridesLocks: Bool
    /// The grants of the caller when it scheduled the write; nil if the caller had all rights.
    package let grants: [String]?

    package init(
        _ operations: [ScheduledOperation], if conditions: [Transaction.Condition] = [], guards: [WriteGuard],
        overridesLocks: Bool, grants: [String]?
    ) {
        self.operations = operations
        self.conditions = conditions
        self.guards = guards
        self.overridesLocks = overridesLocks
        self.grants = grants
    }
}

extension ScheduledWrite: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            try reader.required("operations"), if: try reader.list("if"), guards: try reader.list("guards"),
            overridesLocks: try reader.flag("overridesLocks"), grants: try reader.optional("grants"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("operations", operations)
        writer.member("if", unlessEmpty: conditions)
        writer.member("guards", unlessEmpty: guards)
        writer.flag("overridesLocks", overridesLocks)
        writer.member("grants", grants)
    }
}

/// An operation of a scheduled write.
package enum ScheduledOperation: Equatable, Sendable {
    case setting(Transaction.Operation)
    case mergeSuite(SuiteName, JSONObject)
    case replaceSuite(SuiteName, JSONObject)
    case resetSuite(SuiteName, prefix: String)
    case dropSuite(SuiteName)
    /// Sets a schema. The text is nil if rendering the document gives the same text.
    case setSchema(SuiteName, JSONValue, text: String?, onConflict: ConflictPolicy)
    case removeSchema(SuiteName)
    case undo(UndoRequest, of: SuiteName?, onConflict: ConflictPolicy)
    case restore(SuiteName, RestoreRequest, skipsConflicts: Bool)
}

extension ScheduledOperation: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        switch try reader.required("op") as String {
        case "mergeSuite": self = .mergeSuite(try reader.required("suite"), try Self.values(in: reader))
        case "replaceSuite": self = .replaceSuite(try reader.required("suite"), try Self.values(in: reader))
        case "resetSuite":
            self = .resetSuite(try reader.required("suite"), prefix: try reader.optional("prefix") ?? "")
        case "dropSuite": self = .dropSuite(try reader.required("suite"))
        case "setSchema":
            let text: String? = try reader.optional("schemaText")
            let document =
                if let text { try JSONValue(ofSchemaText: text) } else { try reader.required("schema") as JSONValue }
            self = .setSchema(
                try reader.required("suite"), document, text: text, onConflict: try Self.policy(in: reader))
        case "removeSchema": self = .removeSchema(try reader.required("suite"))
        case "undo":
            self = .undo(
                UndoRequest(try reader.required("revision"), isForced: try reader.flag("force")),
                of: try reader.optional("suite"), onConflict: try Self.policy(in: reader))
        case "restore":
            self = .restore(
                try reader.required("suite"),
                RestoreRequest(
                    to: try reader.required("to"), prefix: try reader.optional("prefix"),
                    keys: try reader.optional("keys")),
                skipsConflicts: reader.has("onConflict"))
        default: self = .setting(try Transaction.Operation(reader))
        }
    }

    package func write(to writer: inout JSONWriter) {
        if case .setting(let operation) = self { return operation.write(to: &writer) }
        writer.beginObject()
        switch self {
        case .setting: break
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
        case .setSchema(let suite, let document, let text, let policy):
            writer.begin("setSchema", suite)
            writer.member(schema: document, orText: text)
            writer.member(policy)
        case .removeSchema(let suite): writer.begin("removeSchema", suite)
        case .undo(let undo, let suite, let policy):
            writer.begin("undo", suite)
            writer.member("revision", undo.revision)
            writer.flag("force", undo.isForced)
            writer.member(policy)
        case .restore(let suite, let restore, let skipsConflicts):
            writer.begin("restore", suite)
            writer.member("to", restore.moment)
            writer.member("prefix", restore.prefix)
            writer.member("keys", restore.keys)
            if skipsConflicts { writer.member("onConflict", "skip") }
        }
        writer.endObject()
    }

    private static func values(in reader: ObjectReader) throws(BodyError) -> JSONObject {
        try reader.required("values") { json throws(BodyError) in try json.members }
    }

    private static func policy(in reader: ObjectReader) throws(BodyError) -> ConflictPolicy {
        guard let text: String = try reader.optional("onConflict") else { return .refuse }
        guard let policy = ConflictPolicy(rawValue: text) else {
            throw BodyError.unknown(word: text, among: ["refuse", "keep", "reset"]).inMember("onConflict")
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

/// A precondition about the setting, suite or schema that a write names, from `If-Match` or `If-None-Match`.
package enum WriteGuard: Equatable, Sendable {
    /// The setting, suite or schema has one of these revisions.
    case isAt([Revision])
    /// The setting, suite or schema has none of these revisions.
    case isNotAt([Revision])
    /// The suite or schema exists, or the setting has a stored value.
    case exists
    /// The suite or schema does not exist, or the setting has no stored value.
    case isAbsent
}

extension WriteGuard: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        if let revisions: [Revision] = try reader.optional("isAt") {
            self = .isAt(revisions)
        } else if let revisions: [Revision] = try reader.optional("isNotAt") {
            self = .isNotAt(revisions)
        } else {
            self = try reader.required("exists") as Bool ? .exists : .isAbsent
        }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        switch self {
        case .isAt(let revisions): writer.member("isAt", revisions)
        case .isNotAt(let revisions): writer.member("isNotAt", revisions)
        case .exists: writer.member("exists", true)
        case .isAbsent: writer.member("exists", false)
        }
    }
}
