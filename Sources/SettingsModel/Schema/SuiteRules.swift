/// The rules of a schema about the suite as a whole: what its top level says beside what each key may hold.
enum SuiteRules {
    /// Which of the two nodes of rules.
    enum Variant {
        /// For the effective values at a commit.
        case rules
        /// For the defaults alone, of which nobody can demand that they be complete.
        case rulesForDefaults
    }

    /// What a finding is about, apart from the numbers in it: a suite that had three keys too many and has four now
    /// breaks no rule that it did not break before.
    struct Breach: Hashable {
        private let node: SchemaNodeID
        private let key: UTF8Text?
        private let pointer: JSONPointer
        private let keyword: String
        private let expected: JSONValue?
        private let cause: String?

        /// What a finding is about; nil if nobody knows, as the check was given up.
        init?(_ finding: SchemaValidator.Finding) {
            guard finding.violation.keyword != SchemaValidator.tooComplex else { return nil }
            node = finding.node
            key = finding.violation.key.map(UTF8Text.init)
            pointer = finding.violation.pointer
            keyword = finding.violation.keyword
            expected = finding.violation.expected
            // One key can be missing because of several others.
            cause = finding.violation.keyword == "dependentRequired" ? finding.violation.detail : nil
        }
    }

    /// The nodes with the two variants of the top level at their end; nil if it has no rules beyond the keys.
    static func nodes(from nodes: [SchemaNode]) -> [SchemaNode]? {
        var rules = nodes[0]
        rules.types = nil
        rules.objects = nodes[0].objects.flatMap { ObjectRules(ofSuiteFrom: $0, forDefaults: false) }
        guard !rules.isTrivial else { return nil }
        var rulesForDefaults = rules
        rulesForDefaults.objects = nodes[0].objects.flatMap { ObjectRules(ofSuiteFrom: $0, forDefaults: true) }
        return nodes + [rules, rulesForDefaults]
    }

    /// Everything that the values break, with the key that it is about.
    static func findings(
        _ nodes: [SchemaNode]?, _ variant: Variant, _ values: JSONObject, _ secretKeys: Set<UTF8Text>,
        forComparison: Bool = false
    ) -> [SchemaValidator.Finding] {
        guard let nodes else { return [] }
        let root = nodes.count - (variant == .rules ? 2 : 1)
        // What is compared must be whole: a list that ends early would make old breaches new and hide new ones.
        var validator =
            forComparison
            ? SchemaValidator(nodes: nodes, mostFindings: .max, mostText: .max, secretKeys: secretKeys)
            : SchemaValidator(nodes: nodes, secretKeys: secretKeys)
        validator.validate(.object(values), against: [root])
        return validator.findings.map(attributed)
    }

    /// The finding with its key: the first step of its place, or the key that is missing.
    private static func attributed(_ finding: SchemaValidator.Finding) -> SchemaValidator.Finding {
        var violation = finding.violation
        if let key = violation.pointer.tokens.first {
            violation.key = key
            violation.pointer = JSONPointer(Array(violation.pointer.tokens.dropFirst()))
        } else if violation.keyword == "required" || violation.keyword == "dependentRequired" {
            violation.key = violation.expected?.string
            return SchemaValidator.Finding(node: finding.node, violation: missing(violation))
        }
        return SchemaValidator.Finding(node: finding.node, violation: violation)
    }

    private static func missing(_ violation: Violation) -> Violation {
        let isRequired = violation.keyword == "required"
        return Violation(
            key: violation.key, keyword: violation.keyword,
            detail: isRequired ? "is required" : "is required: the suite \(violation.detail)",
            expected: violation.expected)
    }
}
