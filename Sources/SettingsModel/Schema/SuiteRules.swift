/// The rules of a schema that are about the suite as a whole: those at its top level beside the rules for each key.
struct SuiteRules: Sendable {
    /// The schema's nodes, then the rules for effective values, then the same for defaults alone, which need not be complete.
    private let nodes: [SchemaNode]
    /// The keys that the rules concern; nil if the rules concern all keys.
    let keys: Set<UTF8Text>?
    /// A keyword of the rules that must be checked on all keys of the suite; nil if the rules have no such keyword.
    let allKeysKeyword: String?
    /// True if checking them may take long for few and small values.
    let hasExpensiveRules: Bool

    /// Returns nil if the schema has no rules beyond its keys.
    init?(of nodes: [SchemaNode]) {
        let objects = nodes[0].objects
        let rules = nodes[0].ofSuite(objects.flatMap { ObjectRules(ofSuiteFrom: $0, forDefaults: false) })
        guard !rules.isTrivial else { return nil }
        let rulesForDefaults = nodes[0].ofSuite(objects.flatMap { ObjectRules(ofSuiteFrom: $0, forDefaults: true) })
        self.nodes = nodes + [rules, rulesForDefaults]
        hasExpensiveRules = rules.combination != nil || rules.values != nil || !(rules.objects?.nodes.isEmpty ?? true)
        var (keys, allKeysKeyword) = (Set<UTF8Text>(), String?.none)
        for id in self.nodes.conjoined(from: [nodes.count]) {
            let node = self.nodes[id]
            keys.formUnion(node.objects?.names.map(UTF8Text.init) ?? [])
            allKeysKeyword =
                allKeysKeyword ?? node.objects?.allMembersKeyword ?? (node.values == nil ? nil : "enum or const")
        }
        self.keys = allKeysKeyword == nil ? keys : nil
        self.allKeysKeyword = allKeysKeyword
    }

    /// Returns those findings after a commit that were not there before it.
    func new(_ findings: [SchemaValidator.Finding], after old: [SchemaValidator.Finding]) -> [Violation] {
        let known = Set(old.compactMap(Self.identity))
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

    /// The further steps of matching patterns that are allowed for each key.
    private static let patternStepsForKey = 500

    /// Lists what is wrong with effective values, with the key of each violation. Takes the steps of checking from those
    /// that are left.
    ///
    /// - Parameters:
    ///   - areDefaults: true for values that need not be complete.
    ///   - isComplete: lists everything. A comparison of lists that end early would confuse old and new.
    @inline(never)
    func findings(
        _ values: JSONObject, _ secretKeys: Set<UTF8Text>, areDefaults: Bool = false, isComplete: Bool = false,
        steps: inout Int
    ) -> [SchemaValidator.Finding] {
        var validator = SchemaValidator(
            nodes: nodes, mostFindings: isComplete ? .max : SchemaValidator.mostListed,
            mostText: isComplete ? .max : SchemaValidator.mostTextListed, secretKeys: secretKeys,
            steps: SchemaValidator.mostSteps, of: steps,
            patternSteps: SchemaValidator.mostPatternSteps + Self.patternStepsForKey * values.count)
        validator.validate(.object(values), against: [nodes.count - (areDefaults ? 1 : 2)])
        validator.charge(&steps)
        return validator.findings.map { SchemaValidator.Finding(node: $0.node, violation: attributed($0.violation)) }
    }

    /// Adds the key: the first token of the location, or the missing key.
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
