/// A validator that checks a value against compiled schemas and lists every violation.
///
/// The work has a budget of steps: schemas that refer to each other can ask for exponentially many checks, and a pattern
/// for many steps a character. A value that exceeds the budget is not valid.
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
    /// True if messages may repeat nothing of the value at hand.
    private(set) var isSecret = false
    /// True where only the answer counts, not the reasons: inside `anyOf`, `not`, `if` and the like.
    private(set) var isQuiet = false

    let nodes: [SchemaNode]
    private let mostFindings: Int
    private let mostText: Int
    private let secretKeys: Set<UTF8Text>
    private var path: [Step] = []
    private var current: SchemaNodeID = 0
    private var depth = 0
    private var failed = false
    private(set) var steps: Int
    private let budget: Int
    /// True if the budget would be larger if other values had left more.
    private var isBoundByOthers = false
    /// The remaining steps of matching patterns.
    private var patternSteps: Int
    private(set) var isExhausted = false
    /// The bytes of names and texts in the findings.
    private var listedText = 0
    /// The remaining steps for reasons and suggestions. If no steps remain, messages have no reasons and no suggestions.
    private(set) var reasonSteps: Int
    /// True for a validator that looks for a reason. It gives none itself, as reasons of alternatives inside alternatives
    /// would make a text of exponential length.
    private var isForReason = false

    /// The deepest nesting of schemas and values together: 128 levels of a value with four schemas for each, which fits a
    /// thread with 512 KiB of stack.
    private static let deepest = 640
    /// The most that the budget for one value may be.
    static let mostSteps = 5_000_000
    /// The budget for matching patterns while one value is checked: some ten milliseconds.
    static let mostPatternSteps = 1_000_000
    /// The steps of matching a pattern that cost one step of checking.
    static let patternStepsPerStep = 8
    /// The budget for reasons and suggestions.
    static let mostReasonSteps = 300_000
    /// The number of violations that are listed.
    static let mostListed = 1_000
    /// The maximum bytes of names and texts in the list of violations, which repeats names and texts.
    static let mostTextListed = 1_000_000
    /// The keyword of the violation for an exceeded budget.
    static let tooComplex = "limit"

    /// Makes a validator for one value. The members of it that `secretKeys` names are secrets.
    init(
        nodes: [SchemaNode], mostFindings: Int = Self.mostListed, mostText: Int = Self.mostTextListed,
        secretKeys: Set<UTF8Text> = [], steps: Int = Self.mostSteps, patternSteps: Int = Self.mostPatternSteps
    ) {
        self.mostText = mostText
        self.nodes = nodes
        self.steps = steps
        budget = steps
        self.patternSteps =
            steps < patternSteps / Self.patternStepsPerStep ? steps * Self.patternStepsPerStep : patternSteps
        reasonSteps = min(Self.mostReasonSteps, steps)
        self.mostFindings = mostFindings
        self.secretKeys = secretKeys
    }

    /// Makes a validator for one of several values. The steps that are left for all of them bound those for this one.
    init(
        nodes: [SchemaNode], mostFindings: Int = Self.mostListed, mostText: Int = Self.mostTextListed,
        secretKeys: Set<UTF8Text> = [], steps: Int, of rest: Int, patternSteps: Int = Self.mostPatternSteps
    ) {
        self.init(
            nodes: nodes, mostFindings: mostFindings, mostText: mostText, secretKeys: secretKeys,
            steps: max(0, min(steps, rest)), patternSteps: patternSteps)
        isBoundByOthers = rest < steps
    }

    /// Subtracts the used steps from the remaining steps of several values. If the steps did not suffice, no steps remain.
    func charge(_ rest: inout Int) {
        let spent = budget - steps + min(Self.mostReasonSteps, budget) - reasonSteps
        rest = isExhausted && isBoundByOthers ? min(0, rest - spent) : rest - spent
    }

    /// Checks a value against schemas that must all hold.
    mutating func validate(_ value: JSONValue, against roots: [SchemaNodeID], isSecret: Bool = false) {
        self.isSecret = isSecret
        for root in roots where !isSettled { check(value, root) }
        if isExhausted {
            let violation = Violation(
                keyword: Self.tooComplex,
                detail:
                    "checking the value against the schema takes too long; store a smaller value, or simplify the schema"
            )
            findings = [Finding(node: roots.first ?? 0, violation: violation)]
        }
    }

    /// The budget for checking a value: some fifty milliseconds, and more for a large one.
    static func budget(for value: JSONValue) -> Int {
        min(mostSteps, 1_000_000 + 4 * value.extent(upTo: mostSteps))
    }

    /// True if further checks would not change the result.
    var isSettled: Bool {
        isExhausted || (isQuiet ? failed : findings.count >= mostFindings || listedText >= mostText)
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
    @inline(never)
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
        let reason = isSecret ? "" : firstReason(.string(name), id).map { ": \($0)" } ?? ""
        fail(at: .name(name), "propertyNames", "the name is not allowed\(reason)")
    }

    /// True if a value fits schemas that must all hold. Lists no violations.
    mutating func allows(_ value: JSONValue, _ roots: [SchemaNodeID]) -> Bool {
        for root in roots where !isValid(value, root) || isExhausted { return false }
        return true
    }

    /// True if a value fits a node. Lists no violations.
    mutating func isValid(_ value: JSONValue, _ id: SchemaNodeID) -> Bool {
        let outer = (isQuiet, failed)
        isQuiet = true
        failed = false
        check(value, id)
        let isValid = !failed
        (isQuiet, failed) = outer
        return isValid
    }

    /// Returns the reason that the value at hand, or a name in it, does not fit a node; nil if that may not be said.
    @inline(never)
    mutating func firstReason(_ value: JSONValue, _ id: SchemaNodeID) -> String? {
        guard !isQuiet, !isForReason, reasonSteps > 0 else { return nil }
        var validator = SchemaValidator(
            nodes: nodes, mostFindings: 1, secretKeys: path.isEmpty ? secretKeys : [], steps: reasonSteps)
        validator.isForReason = true
        validator.depth = depth
        validator.validate(value, against: [id], isSecret: isSecret)
        reasonSteps = validator.steps
        return validator.isExhausted ? nil : validator.findings.first?.violation.detailWithLocation
    }

    /// Returns `; did you mean …?`, or nothing if that may not be said or would take too long to find.
    mutating func suggestion(for name: String, among known: some Collection<String>) -> String {
        let cost = known.count * 32
        guard !isQuiet, !isSecret, !isForReason, cost <= Self.mostReasonSteps else { return "" }
        reasonSteps -= cost
        return reasonSteps >= 0 ? NameSuggestion.phrase(for: name, among: known) : ""
    }

    /// True if a pattern matches. Spends the steps that the match takes.
    mutating func matches(_ text: String, _ pattern: Pattern) -> Bool {
        // A search begins by making room for all states.
        guard spend(pattern.stateCount / 16) else { return true }
        var budget = patternSteps
        let matches = pattern.matches(text, budget: &budget)
        steps -= (patternSteps - budget) / Self.patternStepsPerStep
        patternSteps = budget
        if matches == nil { isExhausted = true }
        return matches ?? true
    }

    /// Takes steps from the budget. Returns false when it is used up.
    mutating func spend(_ cost: Int) -> Bool {
        steps -= cost
        if steps < 0 { isExhausted = true }
        return !isExhausted
    }

    /// Adds a violation by the value at hand, with the value found. Not inlined, as every rule calls it and few values fail.
    /// The texts are closures: where only the answer counts they are not made, which took most of the time.
    @inline(never)
    mutating func fail(
        _ keyword: String, _ demand: @autoclosure () -> String, _ value: JSONValue,
        expected: @autoclosure () -> JSONValue?
    ) {
        fail(keyword, demand(), value, found: value.briefPhrase, expected: expected())
    }

    /// Adds a violation by the value at hand, with a phrase for what was found.
    @inline(never)
    mutating func fail(
        _ keyword: String, _ demand: @autoclosure () -> String, _ value: JSONValue,
        found: @autoclosure () -> String?, expected: @autoclosure () -> JSONValue?
    ) {
        failed = true
        guard !isQuiet else { return }
        let (demand, found, expected) = (demand(), isSecret ? nil : found(), expected())
        add(
            keyword, found.map { "\(demand) (got \($0))" } ?? demand, at: path,
            expected: expected?.isShort ?? false ? expected : nil, actual: isSecret ? nil : value.briefScalar)
    }

    /// Adds a violation by the value at hand, or by a part of it, that only names its demand.
    @inline(never)
    mutating func fail(at step: Step? = nil, _ keyword: String, _ demand: @autoclosure () -> String) {
        failed = true
        if !isQuiet { add(keyword, demand(), at: path + (step.map { [$0] } ?? [])) }
    }

    private mutating func add(
        _ keyword: String, _ detail: String, at path: [Step], expected: JSONValue? = nil, actual: JSONValue? = nil
    ) {
        guard findings.count < mostFindings, listedText < mostText else { return }
        let tokens = path.map { step in
            switch step {
            case .name(let name): name
            case .index(let index): String(index)
            }
        }
        // For a location inside a secret, the violation names only the key, if the path begins with the key.
        let shown = isSecret ? Array(tokens.prefix(secretKeys.isEmpty ? 0 : 1)) : tokens
        let violation = Violation(
            pointer: JSONPointer(shown), keyword: keyword, detail: detail, expected: expected, actual: actual)
        listedText += shown.reduce(detail.utf8.count) { $0 + $1.utf8.count }
        findings.append(Finding(node: current, violation: violation))
    }
}

extension SchemaNode {
    fileprivate func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        if refusesAll { validator.fail("false", "must not be present") }
        if let types, !types.admits(value) {
            validator.fail(
                "type", "must be \(types.phrase)", value,
                found: types.contains(.integer) ? value.briefPhrase : value.kindPhrase,
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
