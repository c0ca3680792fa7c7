import SettingsAPI
import SettingsEngine
import SettingsModel

/// A model of the store: suites as plain dictionaries, and the effects of writes on them.
struct PlainSuites {
    /// The schema, the stored values and the revisions of a suite.
    struct PlainSuite {
        var schema: PlainSchema?
        var stored: [String: JSONValue] = [:]
        /// The revisions of the keys that were written.
        var revisions: [String: Revision] = [:]
        var revision = Revision.zero
        var schemaRevision = Revision.zero
        /// The revision of each key of this suite that was never written.
        var unwrittenKeyRevision = Revision.zero

        func isAdmitted(_ key: String) -> Bool { schema?.admits(key) ?? true }

        func source(_ key: String) -> Source {
            guard let stored = stored[key] else { return schema?.defaults[key] == nil ? .unset : .default }
            guard let schema else { return .stored }
            return schema.admits(key) && schema.allows(key, stored) ? .stored : .invalid
        }

        func value(_ key: String) -> JSONValue? {
            switch source(key) {
            case .stored: stored[key]
            case .default: schema?.defaults[key]
            default: nil
            }
        }
    }

    /// The reason why the model refuses a write.
    struct Refusal: Error {
        /// The error codes that the daemon may return.
        let codes: Set<ErrorCode>

        init(_ codes: ErrorCode...) {
            self.codes = Set(codes)
        }
    }

    /// The names of the suites in random tests.
    static let suiteNames = ["app", "net", "ui"]
    /// The names of the keys in random tests.
    static let keys = ["a", "b", "c", "c.x", "d", "e"]

    var suites: [String: PlainSuite] = [:]
    /// The revision of the last commit that dropped a suite.
    var lastDrop = Revision.zero

    /// Applies a write. Throws the reason if the model refuses it.
    ///
    /// - Returns: the changed settings as `SUITE KEY`; nil if the write changes nothing.
    mutating func apply(_ command: WriteCommand, at revision: Revision) throws -> [String]? {
        var next = self
        switch command {
        case .setting(let operation): try next.apply([operation], isInPath: true)
        case .transaction(let transaction): try next.apply(transaction.operations, isInPath: false)
        case .mergeSuite(let suite, let values): try next.merge(suite.text, values)
        case .replaceSuite(let suite, let values): try next.replace(suite.text, values)
        case .resetSuite(let suite, let prefix):
            guard next.suites[suite.text] != nil else { throw Refusal(.unknownSuite) }
            for key in Self.keys where key.hasPrefix(prefix) { next.suites[suite.text]?.stored[key] = nil }
        case .dropSuite(let suite):
            guard next.suites.removeValue(forKey: suite.text) != nil else { throw Refusal(.unknownSuite) }
        case .setSchema(let suite, let schema, let policy): try next.set(schema, suite.text, policy)
        case .removeSchema(let suite):
            guard next.suites[suite.text] != nil else { throw Refusal(.unknownSuite) }
            next.suites[suite.text]?.schema = nil
        // `PastTests` compares undo and restore with a list of complete states.
        case .undo, .restore: throw Refusal(.badRequest)
        }
        return commit(&next, at: revision)
    }

    /// Sets the revision of each suite, setting and schema that the write changed, and makes `next` the current state.
    ///
    /// - Returns: the changed settings as `SUITE KEY`; nil if the write changes nothing.
    mutating func commit(_ next: inout PlainSuites, at revision: Revision) -> [String]? {
        var changed: [String] = []
        var isChanged = false
        for name in Self.suiteNames {
            let (old, new) = (suites[name], next.suites[name])
            guard old != nil || new != nil else { continue }
            let keys = Self.keys.filter { key in
                old?.stored[key] != new?.stored[key] || old?.source(key) ?? .unset != new?.source(key) ?? .unset
                    || old?.value(key) != new?.value(key)
            }
            changed += keys.map { "\(name) \($0)" }
            let isSchemaNew = old?.schema?.document != new?.schema?.document
            guard !keys.isEmpty || isSchemaNew || (old == nil) != (new == nil) else { continue }
            isChanged = true
            if new == nil { next.lastDrop = revision }
            if old == nil { next.suites[name]?.unwrittenKeyRevision = lastDrop }
            for key in keys { next.suites[name]?.revisions[key] = revision }
            next.suites[name]?.revision = revision
            if isSchemaNew { next.suites[name]?.schemaRevision = revision }
        }
        self = next
        return isChanged ? changed : nil
    }
}

/// The effects of each kind of write.
extension PlainSuites {
    /// Applies the operations of a transaction, or the single operation of a request whose path names the key.
    ///
    /// - Parameter isInPath: true if the path of the request names the key.
    private mutating func apply(_ operations: [Transaction.Operation], isInPath: Bool) throws {
        for operation in operations where suites[operation.suite.text] == nil {
            let createsSuite = operations.contains {
                if case .set = $0.action { return $0.suite == operation.suite }
                return false
            }
            guard createsSuite else { throw Refusal(.unknownSuite) }
        }
        let before = self
        var refusal: Refusal?
        var writtenSettings: Set<String> = []
        for operation in operations {
            let (suite, key) = (operation.suite.text, operation.key.text)
            let present = before.suites[suite] ?? PlainSuite()
            guard present.isAdmitted(key) || (operation.action == .delete && present.stored[key] != nil) else {
                if isInPath { throw Refusal(.unknownKey) }
                // The daemon reports the unknown keys of a body after the last operation, so that a refusal of a later
                // operation comes first.
                refusal = Refusal(.unknownKey)
                continue
            }
            var plain = suites[suite] ?? PlainSuite()
            switch operation.action {
            case .set(let value):
                plain.stored[key] = value
                writtenSettings.insert("\(suite) \(key)")
            case .delete: plain.stored[key] = nil
            case .change(.add(.integer(let amount))):
                // The daemon validates new values after the last operation. Therefore an addition to an invalid value
                // is refused here only if the value was stored before the transaction.
                let isWrittenBefore =
                    plain.stored[key] != present.stored[key] || writtenSettings.contains("\(suite) \(key)")
                if !isWrittenBefore, present.source(key) == .invalid { throw Refusal(.invalidStored) }
                writtenSettings.insert("\(suite) \(key)")
                guard let value = plain.stored[key] ?? plain.schema?.defaults[key] else { throw Refusal(.notSet) }
                guard let number = value.integer else { throw Refusal(.invalidOperation) }
                plain.stored[key] = .integer(number + amount)
            case .change: break
            }
            suites[suite] = plain
        }
        if let refusal { throw refusal }
        try check(writtenSettings, since: before)
    }

    private mutating func merge(_ suite: String, _ values: JSONObject) throws {
        let before = self
        var plain = suites[suite] ?? PlainSuite()
        for member in values {
            guard plain.isAdmitted(member.name) || (member.value.isNull && plain.stored[member.name] != nil) else {
                throw Refusal(.unknownKey)
            }
            if case .object(var old)? = plain.value(member.name), case .object(let new) = member.value {
                for innerMember in new { old[innerMember.name] = innerMember.value }
                plain.stored[member.name] = .object(old)
            } else {
                plain.stored[member.name] = member.value.isNull ? nil : member.value
            }
        }
        suites[suite] = plain
        try check(Set(values.names.map { "\(suite) \($0)" }), since: before)
    }

    private mutating func replace(_ suite: String, _ values: JSONObject) throws {
        let before = self
        var plain = suites[suite] ?? PlainSuite()
        plain.stored = [:]
        for member in values {
            guard plain.isAdmitted(member.name) else { throw Refusal(.unknownKey) }
            plain.stored[member.name] = member.value
        }
        suites[suite] = plain
        try check(Set(values.names.map { "\(suite) \($0)" }), since: before)
    }

    private mutating func set(_ schema: Schema, _ suite: String, _ policy: ConflictPolicy) throws {
        var plain = suites[suite] ?? PlainSuite()
        guard let new = PlainSchema.all.first(where: { $0.document == schema.document }) else { return }
        guard plain.schema?.document != new.document else { return }
        plain.schema = new
        let conflicts = Self.keys.filter { plain.source($0) == .invalid }
        switch policy {
        case .refuse: if !conflicts.isEmpty { throw Refusal(.schemaConflict) }
        case .keep: break
        case .reset: for key in conflicts { plain.stored[key] = nil }
        }
        suites[suite] = plain
    }

    /// Refuses invalid values, except values that were stored before the write and that the write does not contain.
    /// Removes a new suite that has no stored value.
    ///
    /// - Parameter writtenSettings: the settings to which the write assigns a value, as `SUITE KEY`.
    private mutating func check(_ writtenSettings: Set<String>, since before: PlainSuites) throws {
        for (name, plain) in suites {
            let old = before.suites[name]
            for key in Self.keys where plain.source(key) == .invalid {
                if old?.stored[key] != plain.stored[key] || writtenSettings.contains("\(name) \(key)") {
                    throw Refusal(.invalidValue)
                }
            }
            if old == nil, plain.stored.isEmpty { suites[name] = nil }
        }
    }
}
