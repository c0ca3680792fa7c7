/// The schema of a suite: the types, limits, defaults and descriptions of its keys.
///
/// A schema is a JSON Schema (draft 2020-12) whose `properties` are the keys. It is compiled from a JSON document, or
/// the module SettingsKeys makes it from typed keys. In both cases, ``document`` is the JSON document.
///
///     let schema = try Schema(JSONValue(parsing: #"""
///         {"type": "object", "additionalProperties": false,
///          "properties": {"launchCount": {"type": "integer", "default": 0, "minimum": 0}}}
///         """#))
///     schema.key("launchCount")?.violations(of: -1)   // must be at least 0 (got -1)
public struct Schema: Sendable {
    /// The only allowed value of `$schema`.
    package static let dialect = "https://json-schema.org/draft/2020-12/schema"

    /// The JSON document from which the schema was compiled.
    public let document: JSONValue
    /// The text that a client sent, or the text of a schema file; nil if the text is not known, or if writing the
    /// document gives the same text.
    package let text: String?
    /// The keys of `properties` with their schemas, sorted by the bytes of their names.
    public let keys: [KeySchema]

    /// The index of each key in `keys`.
    private let positions: [UTF8Text: Int]
    private let nodes: [SchemaNode]
    private let properties: ObjectRules?
    private let suiteRules: SuiteRules?
    /// The keys of `properties` that are secrets.
    private let listedSecrets: Set<UTF8Text>
    /// True if a key that `properties` does not list can be a secret. The schema of each unlisted key must then be
    /// looked up.
    private let admitsUnlistedSecrets: Bool
    /// True if a key that `properties` does not list can be locked.
    private let admitsUnlistedLocks: Bool

    /// Compiles a document. Throws all problems. If references form a cycle or a chain that is too long, does not check
    /// the defaults. In addition to the rules of JSON Schema, the schema of a suite must have `additionalProperties`,
    /// and its defaults must be valid together.
    ///
    /// - Parameters:
    ///   - document: the JSON Schema.
    ///   - text: the text from which the document was parsed; nil if the text is not known.
    public init(_ document: JSONValue, text: String? = nil) throws(SchemaError) {
        try self.init(document, text: text, isStored: false)
    }

    /// Compiles a document that a daemon has stored. It may have two features that earlier versions accepted and that a
    /// new document must not have: `writeOnly` inside the schema of a key, and Unicode properties in patterns that are
    /// no longer supported. Such a property matches every character.
    package init(stored document: JSONValue, text: String? = nil) throws(SchemaError) {
        try self.init(document, text: text, isStored: true)
    }

    private init(_ document: JSONValue, text: String?, isStored: Bool) throws(SchemaError) {
        guard case .object(let source) = document else {
            let detail = "a schema must be an object (got \(document.kindPhrase))"
            throw SchemaError(.root, "schema", detail)
        }
        let compiled = SchemaCompiler.result(of: document, isStored: isStored)
        var problems = Self.shapeProblems(of: source) + compiled.problems
        if !isStored { problems += compiled.nestedSecretProblems() }
        guard compiled.allowsValidation else { throw SchemaError(problems, of: document) }
        let nodes = compiled.nodes
        self.document = document
        self.text = text.flatMap { $0.utf8Span.span.hasSameBytes(as: document.bytes().span) ? nil : $0 }
        self.nodes = nodes
        properties = nodes[0].objects
        keys = Self.listedKeys(source["properties"]?.object ?? [:], nodes, &problems)
        var positions: [UTF8Text: Int] = [:]
        var listedSecrets: Set<UTF8Text> = []
        for (position, key) in keys.enumerated() {
            positions[UTF8Text(key.name)] = position
            if key.isSecret { listedSecrets.insert(UTF8Text(key.name)) }
        }
        self.positions = positions
        self.listedSecrets = listedSecrets
        suiteRules = SuiteRules(of: nodes)
        let unlisted =
            (properties?.patternProperties.map(\.node) ?? []) + [properties?.additionalProperties].compactMap { $0 }
        admitsUnlistedSecrets = nodes.isSecret(unlisted)
        admitsUnlistedLocks = nodes.isLocked(unlisted)
        problems += defaultProblems(compiled, besides: problems)
        if !problems.isEmpty { throw SchemaError(problems, of: document) }
    }

    /// Returns the schema of a key; nil if the schema does not allow the key.
    ///
    /// A key of `properties` is looked up by its name. For any other key, the method tries `patternProperties`, then
    /// `additionalProperties`.
    public func key(_ name: String) -> KeySchema? {
        var steps = Int.max
        return key(name, steps: &steps)
    }

    /// The budget in steps for matching all patterns against one name. Using up the budget takes a few tenths of a
    /// millisecond. Most patterns take a few steps for each byte.
    private static let maximumStepsForName = 20_000

    /// Returns the schema of a key. Subtracts the steps of matching patterns from `steps`, the budget of a write.
    package func key(_ name: String, steps: inout Int) -> KeySchema? {
        if let position = positions[UTF8Text(name)] { return keys[position] }
        guard let properties else { return nil }
        // If the patterns exhaust the budget, the schema does not allow the key.
        var budget = Self.maximumStepsForName
        defer { steps -= (Self.maximumStepsForName - max(0, budget)) / SchemaValidator.patternStepsPerStep }
        let roots = properties.nodes(for: name) { $0.matches(name, budget: &budget) ?? false }
        guard budget > 0, !roots.isEmpty, !roots.contains(where: { nodes[$0].refusesAll }) else { return nil }
        let documents = patternDocuments(for: name)
        let document: JSONValue =
            switch documents.count {
            case 0: document["additionalProperties"] ?? true
            case 1: documents[0]
            default: ["allOf": .array(documents)]
            }
        return KeySchema(name: name, document: document, defaultValue: nil, nodes: nodes, roots: roots)
    }

    /// Returns the sub-schemas of `patternProperties` whose patterns match a key.
    package func patternDocuments(for name: String) -> [JSONValue] {
        var budget = SchemaValidator.maximumSteps
        let patterns = document["patternProperties"]?.object ?? [:]
        return (properties?.patternProperties ?? []).compactMap { pattern, _ in
            pattern.matches(name, budget: &budget) ?? false ? patterns[pattern.source] : nil
        }
    }

    /// True if `properties` contains the key.
    package func lists(_ name: String) -> Bool {
        positions[UTF8Text(name)] != nil
    }

    /// Returns the keys of `properties` that are most similar to a name that the schema does not allow.
    public func suggestions(for name: String, limit: Int = 3) -> [String] {
        NameSuggestion.nearest(to: name, amongOrdered: keys.lazy.map { $0.name }, limit: limit)
    }

    /// True if the schema has rules about the suite as a whole, in addition to the rules for each key.
    package var hasSuiteRules: Bool {
        suiteRules != nil
    }

    /// True if checking the rules about the suite as a whole can take long even for a few keys.
    package var hasExpensiveSuiteRules: Bool { suiteRules?.hasExpensiveRules ?? false }

    /// The keys that the rules about the suite as a whole use; nil if they use all keys.
    package var suiteRuleKeys: Set<UTF8Text>? { suiteRules?.keys }

    /// A keyword of the rules about the suite as a whole, such as `propertyNames`, that must be checked on all keys for
    /// each write; nil if the rules have no such keyword.
    package var allKeysKeyword: String? { suiteRules?.allKeysKeyword }

    /// The maximum number of keys of a suite whose schema has an ``allKeysKeyword``. The check of this number of keys
    /// takes about ten milliseconds.
    package static let maximumKeysForAllKeysKeyword = 10_000

    /// True if a key of the suite can be a secret.
    package var hasSecrets: Bool {
        admitsUnlistedSecrets || !listedSecrets.isEmpty
    }

    /// True if the key is a secret.
    package func isSecret(_ name: String) -> Bool {
        var steps = Int.max
        return isSecret(name, steps: &steps)
    }

    /// True if the key is a secret. Subtracts the steps of matching patterns from `steps`, the budget of a write.
    package func isSecret(_ name: String, steps: inout Int) -> Bool {
        listedSecrets.contains(UTF8Text(name)) || admitsUnlistedSecrets && key(name, steps: &steps)?.isSecret ?? false
    }

    /// True if the key is locked. Subtracts the steps of matching patterns from `steps`, the budget of a write.
    package func isLocked(_ name: String, steps: inout Int) -> Bool {
        if let position = positions[UTF8Text(name)] { return keys[position].isLocked }
        return admitsUnlistedLocks && key(name, steps: &steps)?.isLocked ?? false
    }

    /// Returns the values on which the rules about the suite as a whole are checked: all stored values, and the
    /// defaults of keys without a stored value. In contrast to the effective value of a setting, a stored value counts
    /// even if the schema does not allow the value.
    ///
    /// - Parameters:
    ///   - stored: the stored values, all of which the result contains.
    ///   - names: the keys whose defaults the result contains; nil for all keys.
    package func effectiveValues(stored: JSONObject, of names: Set<UTF8Text>? = nil) -> JSONObject {
        var values = stored
        let keys = names.map { $0.compactMap { name in positions[name].map { self.keys[$0] } } } ?? self.keys
        for key in keys {
            if let value = key.defaultValue, values[key.name] == nil { values[key.name] = value }
        }
        return values
    }

    /// Returns the violations of the rules about the suite as a whole.
    ///
    /// - Parameters:
    ///   - effective: the result of ``effectiveValues(stored:of:)`` for at least ``suiteRuleKeys``.
    ///   - secrets: keys that are secrets in addition to the secrets of the schema.
    package func suiteViolations(of effective: JSONObject, secrets: [KeyName] = []) -> [Violation] {
        var steps = Int.max
        return suiteViolations(of: effective, secrets: secrets, steps: &steps)
    }

    /// Returns the violations of the rules about the suite as a whole. Subtracts the steps of the validation from
    /// `steps`.
    package func suiteViolations(
        of effective: JSONObject, secrets: [KeyName], steps: inout Int
    ) -> [Violation] {
        guard let suiteRules else { return [] }
        let secrets = secretKeys(in: effective, and: secrets, steps: &steps)
        return suiteRules.findings(effective, secrets, steps: &steps).map(\.violation)
    }

    /// Returns the violations that a commit would add. A commit that adds a violation is refused. `before` and `after`
    /// are the results of ``effectiveValues(stored:of:)`` before and after the commit.
    package func newSuiteViolations(
        before: JSONObject, after: JSONObject, secrets: [KeyName] = []
    ) -> [Violation] {
        var steps = Int.max
        return newSuiteViolations(before: before, after: after, secrets: secrets, steps: &steps)
    }

    /// Does the same, and subtracts the steps of the validation from `steps`, the budget of the commit. If the budget
    /// is exhausted, the list can be incomplete.
    package func newSuiteViolations(
        before: JSONObject, after: JSONObject, secrets: [KeyName] = [], steps: inout Int
    ) -> [Violation] {
        guard let suiteRules else { return [] }
        let secretsAfter = secretKeys(in: after, and: secrets, steps: &steps)
        let findings = suiteRules.findings(after, secretsAfter, isComplete: true, steps: &steps)
        if findings.isEmpty { return [] }
        let secretsBefore = secretKeys(in: before, and: secrets, steps: &steps)
        return suiteRules.addedViolations(
            in: findings, after: suiteRules.findings(before, secretsBefore, isComplete: true, steps: &steps))
    }

    private func secretKeys(
        in values: JSONObject, and others: [KeyName] = [], steps: inout Int
    ) -> Set<UTF8Text> {
        var secrets = listedSecrets
        for other in others { secrets.insert(UTF8Text(other.text)) }
        guard admitsUnlistedSecrets else { return secrets }
        for name in values.names where steps > 0 && positions[UTF8Text(name)] == nil {
            if key(name, steps: &steps)?.isSecret ?? false { secrets.insert(UTF8Text(name)) }
        }
        return secrets
    }
}

extension Schema: Equatable {
    /// True if both schemas were compiled from equal documents.
    public static func == (left: Schema, right: Schema) -> Bool {
        left.document == right.document
    }
}

/// The checks of the schema of a suite that JSON Schema does not demand.
extension Schema {
    private static func shapeProblems(of source: JSONObject) -> [SchemaError.Problem] {
        var problems: [SchemaError.Problem] = []
        if let type = source["type"], type != "object" {
            let detail =
                "type must be \"object\" at the top level, because a suite is an object of keys (got \(type.briefPhrase))"
            problems.append(SchemaError.Problem(["type"], "type", detail))
        }
        if source["additionalProperties"] == nil {
            let detail =
                "additionalProperties is missing at the top level; set it to false to allow only the listed keys, "
                + "or to a schema for all other keys"
            problems.append(SchemaError.Problem(.root, "additionalProperties", detail))
        }
        for member in source["properties"]?.object ?? [:] {
            do {
                _ = try KeyName(member.name)
            } catch {
                problems.append(SchemaError.Problem(["properties", member.name], "properties", error.description))
            }
        }
        return problems
    }

    /// Compiles the keys of `properties`. Matches each pattern of `patternProperties` against each key. All matches
    /// share one budget.
    private static func listedKeys(
        _ sources: JSONObject, _ nodes: [SchemaNode], _ problems: inout [SchemaError.Problem]
    ) -> [KeySchema] {
        var budget = SchemaValidator.maximumSteps
        var keys: [KeySchema] = []
        if let rules = nodes[0].objects {
            for member in sources.sortedMembers where budget > 0 {
                keys.append(
                    KeySchema(
                        name: member.name, document: member.value,
                        defaultValue: rules.properties[UTF8Text(member.name)].flatMap { defaultValue(of: $0, nodes) },
                        nodes: nodes,
                        roots: rules.nodes(for: member.name) { $0.matches(member.name, budget: &budget) ?? false }))
            }
        }
        if budget <= 0 {
            let detail =
                "matching patternProperties against all properties takes too long; simplify the patterns, or list fewer properties"
            problems.append(SchemaError.Problem(["patternProperties"], "patternProperties", detail))
        }
        return keys
    }

    /// Returns the default in the schema of a key. If there is none, returns the default of the schema to which `$ref`
    /// refers.
    private static func defaultValue(of id: SchemaNodeID, _ nodes: [SchemaNode]) -> JSONValue? {
        var next: SchemaNodeID? = id
        while let id = next {
            if let value = nodes[id].defaultValue { return value }
            next = nodes[id].combination?.reference
        }
        return nil
    }

    /// Returns the problems of defaults that only the whole schema reveals: a default that a `$ref`, a pattern for its
    /// key, or the other defaults together do not allow.
    private func defaultProblems(
        _ compiled: SchemaCompiler.Result, besides known: [SchemaError.Problem]
    ) -> [SchemaError.Problem] {
        var problems: [SchemaError.Problem] = []
        for key in keys where compiled.refusesOnlyInvalidValues(key.roots) {
            guard let violation = key.defaultValue.flatMap({ key.violations(of: $0).first }) else { continue }
            let pointer: JSONPointer = ["properties", key.name]
            let isKnown = known.contains { $0.keyword == "default" && $0.pointer == pointer.appending("default") }
            if isKnown { continue }
            problems.append(SchemaError.Problem(pointer, "default", "default \(violation.detailWithLocation)"))
        }
        guard let suiteRules, compiled.refusesOnlyInvalidValues([0]) else { return problems }
        let defaults = effectiveValues(stored: [:])
        var steps = Int.max
        let secrets = secretKeys(in: defaults, steps: &steps)
        return problems
            + suiteRules.findings(defaults, secrets, areDefaults: true, steps: &steps).map {
                SchemaError.Problem(
                    .root, $0.violation.keyword, "the defaults break a rule of the suite: \($0.violation.sentence)")
            }
    }
}

/// The treatment of stored values that a new schema does not allow.
public enum ConflictPolicy: String, Hashable, Sendable {
    /// The daemon refuses the schema and lists the values.
    case refuse
    /// The values stay stored. They are invalid until a schema allows them again.
    case keep
    /// The daemon removes the values.
    case reset
}
