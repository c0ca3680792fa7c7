/// The rules about the suite as a whole: the top-level rules of a schema without the rules for single keys.
struct SuiteRules: Sendable {
    /// The nodes of the schema, then the root of the rules for effective values, then the root of the rules for
    /// defaults, which omit `required` and `minProperties`.
    private let nodes: [SchemaNode]
    /// The keys that the rules use; nil if the rules use all keys.
    let keys: Set<UTF8Text>?
    /// A keyword of the rules that must be checked on all keys of the suite; nil if the rules have no such keyword.
    let allKeysKeyword: String?
    /// True if checking the rules can take long even for a few small values.
    let hasExpensiveRules: Bool

    /// Returns nil if the schema has no rules about the suite as a whole.
    init?(of nodes: [SchemaNode]) {
        let objects = nodes[0].objects
        let rules = nodes[0].suiteNode(with: objects.flatMap { ObjectRules(ofSuiteFrom: $0, forDefaults: false) })
        guard !rules.allowsEveryValue else { return nil }
        let rulesForDefaults = nodes[0].suiteNode(
            with: objects.flatMap { ObjectRules(ofSuiteFrom: $0, forDefaults: true) })
        self.nodes = nodes + [rules, rulesForDefaults]
        hasExpensiveRules = rules.combination != nil || rules.values != nil || !(rules.objects?.nodes.isEmpty ?? true)
        var (keys, allKeysKeyword) = (Set<UTF8Text>(), String?.none)
        // The index of `rules` is `nodes.count`. `inPlaceDescendants` omits the sub-schemas for single values,
        // because the names in these sub-schemas are not keys of the suite.
        for id in self.nodes.inPlaceDescendants(of: [nodes.count]) {
            let node = self.nodes[id]
            keys.formUnion(node.objects?.names.map(UTF8Text.init) ?? [])
            allKeysKeyword =
                allKeysKeyword ?? node.objects?.allMembersKeyword ?? (node.values == nil ? nil : "enum or const")
        }
        self.keys = allKeysKeyword == nil ? keys : nil
        self.allKeysKeyword = allKeysKeyword
    }

    /// Returns the violations that a commit adds, at most `SchemaValidator.maximumListed`. `findings` are the findings
    /// of the values after the commit, and `old` the findings of the values before the commit.
    func addedViolations(in findings: [SchemaValidator.Finding], after old: [SchemaValidator.Finding]) -> [Violation] {
        let known = Set(old.compactMap(Self.identity))
        let added = findings.filter { finding in Self.identity(of: finding).map { !known.contains($0) } ?? true }
        return added.prefix(SchemaValidator.maximumListed).map(\.violation)
    }

    /// Returns a text that is equal for violations of the same rule at the same position. The text omits the found
    /// number of a counting rule: a suite with four keys too many violates the same rule as a suite with three keys too
    /// many. Returns nil for a validation that exhausted its budget.
    private static func identity(of finding: SchemaValidator.Finding) -> UTF8Text? {
        let violation = finding.violation
        guard violation.keyword != SchemaValidator.tooComplex else { return nil }
        // Several keys can require the same missing key. The detail of the violation names the key that requires it.
        let cause = violation.keyword == "dependentRequired" ? violation.detail : ""
        let parts: JSONValue = [
            .integer(Int64(finding.node)), .string(violation.key ?? ""), .string(violation.pointer.description),
            .string(violation.keyword), violation.expected ?? .null, .string(cause),
        ]
        return UTF8Text(parts.text())
    }

    /// The steps of pattern matching that each key adds to the budget.
    private static let patternStepsForKey = 500

    /// Returns the violations of effective values, each with its key. Subtracts the steps of the validation from
    /// `steps`.
    ///
    /// - Parameters:
    ///   - areDefaults: true if the values are only the defaults, so that keys without a default may be missing.
    ///   - isComplete: true to list all violations. A comparison needs complete lists, because a truncated list would
    ///     hide old violations.
    @inline(never)
    func findings(
        _ values: JSONObject, _ secretKeys: Set<UTF8Text>, areDefaults: Bool = false, isComplete: Bool = false,
        steps: inout Int
    ) -> [SchemaValidator.Finding] {
        var validator = SchemaValidator(
            nodes: nodes, maximumFindings: isComplete ? .max : SchemaValidator.maximumListed,
            maximumText: isComplete ? .max : SchemaValidator.maximumListedText, secretKeys: secretKeys,
            steps: SchemaValidator.maximumSteps, sharedSteps: steps,
            patternSteps: SchemaValidator.maximumPatternSteps + Self.patternStepsForKey * values.count)
        validator.validate(.object(values), against: [nodes.count - (areDefaults ? 1 : 2)])
        validator.charge(&steps)
        return validator.findings.map { SchemaValidator.Finding(node: $0.node, violation: attributed($0.violation)) }
    }

    /// Sets the key of a violation: the first token of the pointer, or the missing key.
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
