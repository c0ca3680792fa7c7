/// What the keys of a suite may hold: types, limits, defaults and descriptions.
///
/// A schema is a JSON Schema (draft 2020-12) whose `properties` are the keys. It is compiled from such a document, or
/// made from typed keys (``init(of:additionalProperties:keys:)``), and ``document`` is the document again.
///
///     let schema = try Schema(JSONValue(parsing: #"""
///         {"type": "object", "additionalProperties": false,
///          "properties": {"launchCount": {"type": "integer", "default": 0, "minimum": 0}}}
///         """#))
///     schema.key("launchCount")?.violations(of: -1)   // must be at least 0, but is -1
public struct Schema: Sendable {
    /// The dialect that `$schema` may name.
    public static let dialect = "https://json-schema.org/draft/2020-12/schema"

    /// The document as it was given.
    public let document: JSONValue
    /// The text of the document as it was sent; nil if that is what writing the document gives.
    public let text: String?
    /// The listed keys with their schemas, in the order of the names' bytes.
    public let keys: [KeySchema]

    private let positions: [UTF8Text: Int]
    private let nodes: [SchemaNode]
    private let properties: ObjectRules?
    private let sources: JSONObject
    /// The rules about the suite as a whole, and the same without those that defaults need not satisfy.
    private let suiteNodes: [SchemaNode]?
    private let listedSecrets: Set<UTF8Text>
    /// Whether a key that is not listed can be a secret, so that each has to be looked up.
    private let admitsUnlistedSecrets: Bool

    /// Compiles a document. Throws everything that is wrong with it; what a schema of a suite needs beyond
    /// ``JSONSchema`` is an `additionalProperties` and defaults that are valid together.
    ///
    /// - Parameters:
    ///   - document: the JSON Schema.
    ///   - text: the document as it was sent, if that is known.
    public init(_ document: JSONValue, text: String? = nil) throws(SchemaError) {
        try self.init(document, text: text, refusesNestedSecrets: true)
    }

    /// Compiles a document that a daemon keeps. Version 0.3 took schemas with `writeOnly` inside a key, where it has no effect.
    package init(kept document: JSONValue, text: String? = nil) throws(SchemaError) {
        try self.init(document, text: text, refusesNestedSecrets: false)
    }

    private init(_ document: JSONValue, text: String?, refusesNestedSecrets: Bool) throws(SchemaError) {
        guard case .object(let source) = document else {
            let detail = "a schema must be an object, but is \(document.kindPhrase)"
            throw SchemaError(problems: [SchemaError.Problem(.root, "schema", detail)])
        }
        let compiled = SchemaCompiler.result(of: document)
        var problems = Self.shapeProblems(of: source) + compiled.problems
        if refusesNestedSecrets { problems += compiled.nestedSecrets() }
        guard compiled.isFinite else { throw SchemaError(problems, of: document) }
        let nodes = compiled.nodes
        self.document = document
        self.text = text.flatMap { $0.utf8.elementsEqual(document.bytes()) ? nil : $0 }
        self.nodes = nodes
        properties = nodes[0].objects
        sources = source["properties"]?.object ?? [:]
        keys = Self.listedKeys(sources, nodes, &problems)
        positions = Dictionary(uniqueKeysWithValues: keys.enumerated().map { (UTF8Text($1.name), $0) })
        suiteNodes = SuiteRules.nodes(from: nodes)
        listedSecrets = Set(keys.lazy.filter(\.isSecret).map { UTF8Text($0.name) })
        let unlisted =
            (properties?.patternProperties.map(\.node) ?? []) + [properties?.additionalProperties].compactMap { $0 }
        admitsUnlistedSecrets = SchemaConjunction.isSecret(unlisted, in: nodes)
        problems += defaultProblems(compiled, besides: problems)
        if !problems.isEmpty { throw SchemaError(problems, of: document) }
    }

    /// What the schema says of a key; nil if it does not admit it.
    ///
    /// A listed key is found in one step. For others the patterns are tried, then `additionalProperties` answers.
    public func key(_ name: String) -> KeySchema? {
        if let position = positions[UTF8Text(name)] { return keys[position] }
        guard let properties else { return nil }
        // A name that patterns do not settle within the bound is not admitted.
        var budget = SchemaValidator.mostSteps
        let roots = properties.nodes(for: name) { $0.matches(name, budget: &budget) ?? false }
        guard budget > 0, !roots.isEmpty, !roots.contains(where: { nodes[$0].refusesAll }) else { return nil }
        return KeySchema(
            name: name, document: unlistedDocument(for: name), defaultValue: nil, nodes: nodes, roots: roots)
    }

    /// Whether a key is listed by its name.
    public func lists(_ name: String) -> Bool {
        positions[UTF8Text(name)] != nil
    }

    /// The listed names nearest to one that is not admitted.
    public func suggestions(for name: String, limit: Int = 3) -> [String] {
        NameSuggestion.nearest(to: name, amongOrdered: keys.lazy.map { $0.name }, limit: limit)
    }

    /// Whether there are rules about the suite as a whole, beyond those for each key.
    public var hasSuiteRules: Bool {
        suiteNodes != nil
    }

    /// The effective values of a suite that stores these: defaults where nothing valid is stored, except that invalid
    /// values take part as they are.
    public func effectiveValues(stored: JSONObject) -> JSONObject {
        var values = stored
        for key in keys {
            if let value = key.defaultValue, values[key.name] == nil { values[key.name] = value }
        }
        return values
    }

    /// Whether a key can be a secret.
    public var hasSecrets: Bool {
        admitsUnlistedSecrets || !listedSecrets.isEmpty
    }

    /// What the effective values of a suite break of the rules about it as a whole.
    ///
    /// - Parameters:
    ///   - effective: the effective values of all keys.
    ///   - secrets: keys whose values are secrets beside those that the schema says are.
    public func suiteViolations(of effective: JSONObject, secrets: [KeyName] = []) -> [Violation] {
        SuiteRules.findings(suiteNodes, .rules, effective, secretKeys(in: effective, and: secrets)).map(\.violation)
    }

    /// What they break that the values before a commit did not: the reasons to refuse the commit.
    public func newSuiteViolations(
        before: JSONObject, after: JSONObject, secrets: [KeyName] = []
    ) -> [Violation] {
        let secretsAfter = secretKeys(in: after, and: secrets)
        let findings = SuiteRules.findings(suiteNodes, .rules, after, secretsAfter, forComparison: true)
        guard !findings.isEmpty else { return [] }
        let secretsBefore = secretKeys(in: before, and: secrets)
        let old = SuiteRules.findings(suiteNodes, .rules, before, secretsBefore, forComparison: true)
        let known = Set(old.compactMap(SuiteRules.Breach.init))
        let new = findings.filter { finding in SuiteRules.Breach(finding).map { !known.contains($0) } ?? true }
        return new.prefix(SchemaValidator.mostListed).map(\.violation)
    }

    private func secretKeys(in values: JSONObject, and others: [KeyName] = []) -> Set<UTF8Text> {
        guard hasSuiteRules else { return [] }
        var secrets = listedSecrets.union(others.lazy.map { UTF8Text($0.text) })
        guard admitsUnlistedSecrets else { return secrets }
        for name in values.names where positions[UTF8Text(name)] == nil && key(name)?.isSecret ?? false {
            secrets.insert(UTF8Text(name))
        }
        return secrets
    }

    /// What is wrong with defaults that are valid where they are written: at their keys, for one that came along `$ref` or
    /// whose key a pattern says more about, and all together.
    private func defaultProblems(
        _ compiled: SchemaCompiler.Result, besides known: [SchemaError.Problem]
    ) -> [SchemaError.Problem] {
        var problems: [SchemaError.Problem] = []
        for key in keys where compiled.judgesFairly(key.roots) {
            guard let violation = key.defaultValue.flatMap({ key.violations(of: $0).first }) else { continue }
            let pointer: JSONPointer = ["properties", key.name]
            let isKnown = known.contains { $0.keyword == "default" && $0.pointer == pointer.appending("default") }
            if isKnown { continue }
            let place = violation.pointer == .root ? "" : "at \(violation.pointer) "
            problems.append(SchemaError.Problem(pointer, "default", "default \(place)\(violation.detail)"))
        }
        guard hasSuiteRules, compiled.judgesFairly([0]) else { return problems }
        let defaults = effectiveValues(stored: [:])
        let findings = SuiteRules.findings(suiteNodes, .rulesForDefaults, defaults, secretKeys(in: defaults))
        return problems
            + findings.map {
                SchemaError.Problem(.root, $0.violation.keyword, "the defaults together: \($0.violation.sentence)")
            }
    }

    /// The document of a key that is admitted by patterns or as an additional one; several hold together.
    private func unlistedDocument(for name: String) -> JSONValue {
        var documents: [JSONValue] = []
        var budget = SchemaValidator.mostSteps
        let patterns = document["patternProperties"]?.object ?? [:]
        for (pattern, _) in properties?.patternProperties ?? [] {
            guard pattern.matches(name, budget: &budget) ?? false, let found = patterns[pattern.source] else {
                continue
            }
            documents.append(found)
        }
        switch documents.count {
        case 0: return document["additionalProperties"] ?? true
        case 1: return documents[0]
        default: return ["allOf": .array(documents)]
        }
    }
}

extension Schema: Hashable {
    /// Whether two schemas were compiled from the same document, whatever the order of its members.
    public static func == (left: Schema, right: Schema) -> Bool {
        left.document == right.document
    }

    /// Hashes the document.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(document)
    }
}

extension Schema {
    /// What is wrong with the document as that of a suite's schema, whatever it compiles to.
    private static func shapeProblems(of source: JSONObject) -> [SchemaError.Problem] {
        var problems: [SchemaError.Problem] = []
        if let type = source["type"], type != "object" {
            let detail =
                "type must be \"object\" at the top, as a suite is an object of its keys, but is \(type.briefPhrase)"
            problems.append(SchemaError.Problem(["type"], "type", detail))
        }
        if source["additionalProperties"] == nil {
            let detail =
                "additionalProperties must be said at the top: false to admit the listed keys only, "
                + "or a schema for the others"
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

    /// The keys that are listed. Patterns say something about them too, so each is tried on each, within a bound.
    private static func listedKeys(
        _ sources: JSONObject, _ nodes: [SchemaNode], _ problems: inout [SchemaError.Problem]
    ) -> [KeySchema] {
        let rules = nodes[0].objects
        var budget = SchemaValidator.mostSteps
        var keys: [KeySchema] = []
        for member in sources.sortedMembers {
            let roots = rules?.nodes(for: member.name) { $0.matches(member.name, budget: &budget) ?? false } ?? []
            let own = rules?.properties[UTF8Text(member.name)]
            keys.append(
                KeySchema(
                    name: member.name, document: member.value,
                    defaultValue: own.flatMap { defaultValue(of: $0, nodes) }, nodes: nodes, roots: roots))
        }
        if budget <= 0 {
            let detail = "patternProperties takes too long to try on all properties"
            problems.append(SchemaError.Problem(["patternProperties"], "patternProperties", detail))
        }
        return keys
    }

    /// A key's default is that of its own schema, else of what that refers to.
    private static func defaultValue(of id: SchemaNodeID, _ nodes: [SchemaNode]) -> JSONValue? {
        var next: SchemaNodeID? = id
        while let id = next {
            if let value = nodes[id].defaultValue { return value }
            next = nodes[id].combination?.reference
        }
        return nil
    }
}
