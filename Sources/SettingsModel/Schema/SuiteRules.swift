/// The rules of a schema that are about the suite as a whole: those at its top level beside the rules for each key.
struct SuiteRules: Sendable {
    /// The schema's nodes, then the rules for effective values, then the same for defaults alone, which need not be complete.
    private let nodes: [SchemaNode]
    /// The keys that the rules look at; nil if they look at all.
    let keys: Set<UTF8Text>?
    /// A keyword that looks at all keys.
    let broadKeyword: String?

    /// Returns nil if the schema has no rules beyond its keys.
    init?(of nodes: [SchemaNode]) {
        let objects = nodes[0].objects
        let rules = nodes[0].ofSuite(objects.flatMap { ObjectRules(ofSuiteFrom: $0, forDefaults: false) })
        guard !rules.isTrivial else { return nil }
        let rulesForDefaults = nodes[0].ofSuite(objects.flatMap { ObjectRules(ofSuiteFrom: $0, forDefaults: true) })
        self.nodes = nodes + [rules, rulesForDefaults]
        var (keys, broadKeyword) = (Set<UTF8Text>(), String?.none)
        for id in self.nodes.conjoined(from: [nodes.count]) {
            let node = self.nodes[id]
            keys.formUnion(node.objects?.names.map(UTF8Text.init) ?? [])
            broadKeyword = broadKeyword ?? node.objects?.broadKeyword ?? (node.values == nil ? nil : "enum or const")
        }
        self.keys = broadKeyword == nil ? keys : nil
        self.broadKeyword = broadKeyword
    }

    /// Lists the violations of effective values with the key of each.
    func violations(of values: JSONObject, secretKeys: Set<UTF8Text>) -> [Violation] {
        findings(values, secretKeys).map(\.violation)
    }

    /// Lists the violations of the defaults without the demands for further keys.
    func violations(ofDefaults values: JSONObject, secretKeys: Set<UTF8Text>) -> [Violation] {
        findings(values, secretKeys, root: nodes.count - 1).map(\.violation)
    }

    /// Lists the violations after a commit that were not there before it.
    func newViolations(
        before: JSONObject, _ secretsBefore: @autoclosure () -> Set<UTF8Text>, after: JSONObject,
        _ secretsAfter: Set<UTF8Text>
    ) -> [Violation] {
        let findings = findings(after, secretsAfter, isComplete: true)
        if findings.isEmpty { return [] }
        let known = Set(self.findings(before, secretsBefore(), isComplete: true).compactMap(Self.identity))
        let new = findings.filter { finding in Self.identity(of: finding).map { !known.contains($0) } ?? true }
        return new.prefix(SchemaValidator.mostListed).map(\.violation)
    }

    /// Returns a text that equal violations have in common, without the numbers in it: a suite that had three keys too many
    /// and has four now breaks no further rule. Returns nil for a check that was given up.
    private static func identity(of finding: SchemaValidator.Finding) -> UTF8Text? {
        let violation = finding.violation
        guard violation.keyword != SchemaValidator.tooComplex else { return nil }
        // One key can be missing because of several others.
        let cause = violation.keyword == "dependentRequired" ? violation.detail : ""
        let parts: JSONValue = [
            .integer(Int64(finding.node)), .string(violation.key ?? ""), .string(violation.pointer.description),
            .string(violation.keyword), violation.expected ?? .null, .string(cause),
        ]
        return UTF8Text(parts.text())
    }

    /// - Parameter isComplete: lists everything. A comparison of lists that end early would confuse old and new.
    @inline(never)
    private func findings(
        _ values: JSONObject, _ secretKeys: Set<UTF8Text>, root: SchemaNodeID? = nil, isComplete: Bool = false
    ) -> [SchemaValidator.Finding] {
        var validator =
            isComplete
            ? SchemaValidator(nodes: nodes, mostFindings: .max, mostText: .max, secretKeys: secretKeys)
            : SchemaValidator(nodes: nodes, secretKeys: secretKeys)
        validator.validate(.object(values), against: [root ?? nodes.count - 2])
        return validator.findings.map { SchemaValidator.Finding(node: $0.node, violation: attributed($0.violation)) }
    }

    /// Adds the key: the first step of the place, or the key that is missing.
    private func attributed(_ violation: Violation) -> Violation {
        var violation = violation
        if let key = violation.pointer.tokens.first {
            violation.key = key
            violation.pointer = JSONPointer(Array(violation.pointer.tokens.dropFirst()))
            return violation
        }
        let details = ["required": "is required", "dependentRequired": "is required: the suite \(violation.detail)"]
        guard let detail = details[violation.keyword] else { return violation }
        return Violation(
            key: violation.expected?.string, keyword: violation.keyword, detail: detail, expected: violation.expected)
    }
}
