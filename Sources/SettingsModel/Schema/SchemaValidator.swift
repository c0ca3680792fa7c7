/// Holds a value against compiled schemas and notes every violation.
///
/// The work is bounded whatever the schema and the value: schemas that refer to each other can ask for exponentially
/// many checks, and a pattern for many steps a character. A value that takes more than the bound is not valid.
struct SchemaValidator {
    /// A violation with the node that demands it.
    struct Finding {
        let node: SchemaNodeID
        let violation: Violation
    }

    /// One step into a value.
    enum Step {
        case name(String)
        case index(Int)
    }

    private(set) var findings: [Finding] = []
    /// Whether nothing may be said of the value that is being checked.
    private(set) var isSecret = false
    /// Whether only the answer counts, not the reasons: inside `anyOf`, `not`, `if` and the like.
    private(set) var isQuiet = false

    private let nodes: [SchemaNode]
    private let mostFindings: Int
    private let mostText: Int
    private let secretKeys: Set<UTF8Text>
    private var path: [Step] = []
    private var current: SchemaNodeID = 0
    private var depth = 0
    private var failed = false
    private var steps: Int
    private var isExhausted = false
    private var text = 0
    /// What reasons and suggestions may still take. When it is used up, messages do without.
    private var reasonSteps = 300_000
    /// Whether this looks for a reason itself, which is then given without reasons of its own: those of alternatives
    /// inside alternatives would make a text of exponential length.
    private var isForReason = false

    /// How deep schemas and values may nest together before a value counts as too complex.
    ///
    /// 128 levels of a value with four schemas for each; what that takes fits a thread with 512 KiB of stack.
    private static let deepest = 640
    /// What checking one value may cost.
    static let mostSteps = 5_000_000
    /// How many steps of matching a pattern cost as much as a step of checking.
    private static let patternStepsPerStep = 8
    /// How many violations are listed.
    static let mostListed = 1_000
    /// How many bytes of names and texts the list may take, of which each violation repeats some.
    static let mostTextListed = 1_000_000
    /// The keyword of the violation that says that checking was given up.
    static let tooComplex = "limit"

    /// A validator for one value. Below the first step into it, values at `secretKeys` are secret.
    init(
        nodes: [SchemaNode], mostFindings: Int = Self.mostListed, mostText: Int = Self.mostTextListed,
        secretKeys: Set<UTF8Text> = [], steps: Int = Self.mostSteps
    ) {
        self.mostText = mostText
        self.nodes = nodes
        self.steps = steps
        self.mostFindings = mostFindings
        self.secretKeys = secretKeys
    }

    /// Checks a value against schemas that must all hold.
    mutating func validate(_ value: JSONValue, against roots: [SchemaNodeID], isSecret: Bool = false) {
        self.isSecret = isSecret
        for root in roots where !isSettled { check(value, root) }
        if isExhausted {
            let violation = Violation(
                keyword: Self.tooComplex, detail: "is too complex to be checked against this schema")
            findings = [Finding(node: roots.first ?? 0, violation: violation)]
        }
    }

    /// Whether a value fits, and nothing else.
    static func isValid(_ value: JSONValue, _ nodes: [SchemaNode], _ roots: [SchemaNodeID]) -> Bool {
        var validator = SchemaValidator(nodes: nodes, mostFindings: 1)
        validator.validate(value, against: roots)
        return validator.findings.isEmpty
    }

    /// Whether going on would not change the result.
    var isSettled: Bool {
        isExhausted || (isQuiet ? failed : findings.count >= mostFindings || text >= mostText)
    }

    /// Checks the value at hand against a node.
    mutating func check(_ value: JSONValue, _ id: SchemaNodeID) {
        guard depth < Self.deepest, spend(1) else {
            isExhausted = true
            return
        }
        depth += 1
        let outer = current
        current = id
        nodes[id].check(value, &self)
        current = outer
        depth -= 1
    }

    /// Checks a part of the value at hand.
    mutating func descend(to step: Step, _ value: JSONValue, _ id: SchemaNodeID) {
        let wasSecret = isSecret
        if path.isEmpty, !secretKeys.isEmpty, case .name(let key) = step {
            isSecret = secretKeys.contains(UTF8Text(key))
        }
        path.append(step)
        check(value, id)
        path.removeLast()
        isSecret = wasSecret
    }

    /// Checks the name of a member as the string that it is.
    mutating func checkName(_ name: String, _ id: SchemaNodeID) {
        guard !isValid(.string(name), id), !isExhausted else { return }
        let reason = isSecret ? "" : firstReason(.string(name), id).map { ": it \($0)" } ?? ""
        fail(at: .name(name), "propertyNames", "has a name that is not allowed\(reason)")
    }

    /// Whether a value fits a node, without noting why not.
    mutating func isValid(_ value: JSONValue, _ id: SchemaNodeID) -> Bool {
        let outer = (isQuiet, failed)
        isQuiet = true
        failed = false
        check(value, id)
        let isValid = !failed
        (isQuiet, failed) = outer
        return isValid
    }

    /// What is wrong with the value at hand, or a name in it, that does not fit a node; nil if it cannot be said.
    mutating func firstReason(_ value: JSONValue, _ id: SchemaNodeID) -> String? {
        guard !isQuiet, !isForReason, reasonSteps > 0 else { return nil }
        var validator = SchemaValidator(
            nodes: nodes, mostFindings: 1, secretKeys: path.isEmpty ? secretKeys : [], steps: reasonSteps)
        validator.isForReason = true
        validator.depth = depth
        validator.validate(value, against: [id], isSecret: isSecret)
        reasonSteps = validator.steps
        guard !validator.isExhausted, let violation = validator.findings.first?.violation else { return nil }
        return violation.pointer == .root ? violation.detail : "at \(violation.pointer) \(violation.detail)"
    }

    /// `; did you mean …?`, or nothing if that may not be said or would take too long to find.
    mutating func suggestion(for name: String, among known: some Collection<String>) -> String {
        let cost = known.count * 32
        guard !isQuiet, !isSecret, !isForReason, cost <= reasonSteps else { return "" }
        reasonSteps -= cost
        return NameSuggestion.phrase(for: name, among: known)
    }

    func refusesAll(_ id: SchemaNodeID) -> Bool {
        nodes[id].refusesAll
    }

    /// Whether a pattern matches, at the cost of what it takes to find out.
    mutating func matches(_ text: String, _ pattern: Pattern) -> Bool {
        // A search begins by making room for all states.
        guard spend(pattern.stateCount / 16) else { return true }
        var budget = steps * Self.patternStepsPerStep
        let matches = pattern.matches(text, budget: &budget)
        steps = budget / Self.patternStepsPerStep
        if matches == nil { isExhausted = true }
        return matches ?? true
    }

    /// Takes from what the work may cost; false when it is used up.
    mutating func spend(_ cost: Int) -> Bool {
        steps -= cost
        if steps < 0 { isExhausted = true }
        return !isExhausted
    }

    /// Notes a violation by the value at hand, saying what it is instead.
    mutating func fail(_ keyword: String, _ demand: String, _ value: JSONValue, expected: JSONValue?) {
        fail(keyword, demand, value, butWhat: isQuiet || isSecret ? nil : "is \(value.briefPhrase)", expected: expected)
    }

    /// Notes a violation by the value at hand, saying what is the case instead.
    mutating func fail(
        _ keyword: String, _ demand: String, _ value: JSONValue, butWhat: String?, expected: JSONValue?
    ) {
        failed = true
        guard !isQuiet else { return }
        let but = isSecret ? nil : butWhat
        note(
            keyword, but.map { "\(demand), but \($0)" } ?? demand, at: path,
            expected: expected?.isShort ?? false ? expected : nil, actual: isSecret ? nil : value.briefScalar)
    }

    /// Notes a violation that has no more to say than its demand.
    mutating func fail(_ keyword: String, _ demand: String) {
        failed = true
        if !isQuiet { note(keyword, demand, at: path) }
    }

    /// Notes a violation by a part of the value at hand.
    mutating func fail(at step: Step, _ keyword: String, _ demand: String) {
        failed = true
        if !isQuiet { note(keyword, demand, at: path + [step]) }
    }

    private mutating func note(
        _ keyword: String, _ detail: String, at path: [Step], expected: JSONValue? = nil, actual: JSONValue? = nil
    ) {
        guard findings.count < mostFindings, text < mostText else { return }
        let tokens = path.map { step in
            switch step {
            case .name(let name): name
            case .index(let index): String(index)
            }
        }
        // What is inside a secret stays there: of its place only the key is told, if the path has it.
        let shown = isSecret ? Array(tokens.prefix(secretKeys.isEmpty ? 0 : 1)) : tokens
        let violation = Violation(
            pointer: JSONPointer(shown), keyword: keyword, detail: detail, expected: expected, actual: actual)
        text += shown.reduce(detail.utf8.count) { $0 + $1.utf8.count }
        findings.append(Finding(node: current, violation: violation))
    }
}

extension SchemaNode {
    fileprivate func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        if refusesAll { validator.fail("false", "must not be present") }
        if let types, !types.admits(value) {
            validator.fail(
                "type", "must be \(types.phrase)", value,
                butWhat: "is \(types.contains(.integer) ? value.briefPhrase : value.kindPhrase)",
                expected: types.json)
        }
        values?.check(value, &validator)
        switch value {
        case .integer, .double: numbers?.check(value, &validator)
        case .string: strings?.check(value, &validator)
        case .array: arrays?.check(value, &validator)
        case .object: objects?.check(value, &validator)
        case .null, .bool: break
        }
        combination?.check(value, &validator)
    }
}

extension JSONTypeSet {
    /// The value of `type` that names these types.
    fileprivate var json: JSONValue {
        let names = Self.names.filter { contains($0.type) }.map { JSONValue.string($0.name) }
        return names.count == 1 ? names[0] : .array(names)
    }
}
