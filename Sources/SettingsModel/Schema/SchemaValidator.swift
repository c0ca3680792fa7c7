/// Validates a value against compiled schemas and collects all violations.
///
/// The work has a budget of steps: schemas that refer to each other can need exponentially many checks, and a pattern
/// can need many steps for each character. A value that exhausts the budget is not valid.
struct SchemaValidator {
    /// A violation, and the node whose rule the value violates.
    struct Finding {
        let node: SchemaNodeID
        let violation: Violation
    }

    /// One level of the path from the root of the value to the part that is being validated.
    enum PathElement {
        case name(String)
        case index(Int)
    }

    private(set) var findings: [Finding] = []
    /// True if messages must not contain the part of the value that is being validated.
    private(set) var isSecret = false
    /// True if the calling code needs only the result and no violations, for example inside `anyOf`, `not` and `if`.
    private(set) var isQuiet = false

    let nodes: [SchemaNode]
    private let maximumFindings: Int
    /// The maximum of `listedText`.
    private let maximumText: Int
    /// The members of the root that are secrets, if the root is the object of all settings of a suite.
    private let secretKeys: Set<UTF8Text>
    private var path: [PathElement] = []
    /// The node whose rules are being checked.
    private var current: SchemaNodeID = 0
    /// The number of nested calls of ``check(_:_:)``.
    private var depth = 0
    /// True if the validator has found a violation.
    private var failed = false
    /// The remaining steps for this value.
    private(set) var steps: Int
    /// The steps for this value at the beginning.
    private let budget: Int
    /// True if the validation of other values has left fewer steps of a shared budget than this value may use.
    private var isLimitedBySharedBudget = false
    /// The remaining steps of pattern matching.
    private var patternSteps: Int
    /// True if the validation needs more steps than a budget has, or exceeds ``maximumRecursionDepth``. The value then
    /// counts as invalid.
    private(set) var isExhausted = false
    /// The total number of bytes of details and pointers in the findings.
    private var listedText = 0
    /// The remaining steps for reasons and suggestions in messages. When no steps remain, messages omit reasons and
    /// suggestions.
    private(set) var reasonSteps: Int
    /// True while the validator searches for the reason why an alternative refuses a value. The validator then omits
    /// the reasons of nested alternatives, because they could make a message exponentially long.
    private var isForReason = false

    /// The maximum depth of the recursion: 128 levels of a value with about five schemas for each level. This depth
    /// fits a thread with a stack of 512 KiB.
    private static let maximumRecursionDepth = 640
    /// The upper limit of the budget for one value.
    static let maximumSteps = 5_000_000
    /// The budget for matching patterns during the validation of one value. Using up the budget takes about ten
    /// milliseconds.
    static let maximumPatternSteps = 1_000_000
    /// The number of steps of pattern matching that cost as much as one step of validation.
    static let patternStepsPerStep = 8
    /// The budget for reasons and suggestions.
    static let maximumReasonSteps = 300_000
    /// The maximum number of listed violations.
    static let maximumListed = 1_000
    /// The maximum number of bytes of details and pointers in the listed violations. It is needed because several
    /// violations can repeat the same long text.
    static let maximumListedText = 1_000_000
    /// The keyword of the violation that reports an exhausted budget.
    static let tooComplex = "limit"

    /// Makes a validator for one value. The members that `secretKeys` names are secrets.
    init(
        nodes: [SchemaNode], maximumFindings: Int = Self.maximumListed, maximumText: Int = Self.maximumListedText,
        secretKeys: Set<UTF8Text> = [], steps: Int = Self.maximumSteps, patternSteps: Int = Self.maximumPatternSteps
    ) {
        self.maximumText = maximumText
        self.nodes = nodes
        self.steps = steps
        budget = steps
        self.patternSteps =
            steps < patternSteps / Self.patternStepsPerStep ? steps * Self.patternStepsPerStep : patternSteps
        reasonSteps = min(Self.maximumReasonSteps, steps)
        self.maximumFindings = maximumFindings
        self.secretKeys = secretKeys
    }

    /// Makes a validator for one of several values. `steps` is the budget for this value, and `sharedSteps` is the
    /// remaining budget that all values share.
    init(
        nodes: [SchemaNode], maximumFindings: Int = Self.maximumListed, maximumText: Int = Self.maximumListedText,
        secretKeys: Set<UTF8Text> = [], steps: Int, sharedSteps: Int, patternSteps: Int = Self.maximumPatternSteps
    ) {
        self.init(
            nodes: nodes, maximumFindings: maximumFindings, maximumText: maximumText, secretKeys: secretKeys,
            steps: max(0, min(steps, sharedSteps)), patternSteps: patternSteps)
        isLimitedBySharedBudget = sharedSteps < steps
    }

    /// Subtracts the steps of this validation from the shared budget. If the shared budget did not suffice for this
    /// value, sets the shared budget to zero or less.
    func charge(_ sharedSteps: inout Int) {
        let spent = budget - steps + min(Self.maximumReasonSteps, budget) - reasonSteps
        sharedSteps = isExhausted && isLimitedBySharedBudget ? min(0, sharedSteps - spent) : sharedSteps - spent
    }

    /// Validates a value. It must be valid under all given schemas.
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

    /// The budget for a value in steps. Using up the budget takes about fifty milliseconds, and longer for a large
    /// value.
    static func budget(for value: JSONValue) -> Int {
        min(maximumSteps, 1_000_000 + 4 * value.extent(upTo: maximumSteps))
    }

    /// True if further checks cannot change the result.
    var isSettled: Bool {
        isExhausted || (isQuiet ? failed : findings.count >= maximumFindings || listedText >= maximumText)
    }

    /// Validates the current part of the value against a node.
    mutating func check(_ value: JSONValue, _ id: SchemaNodeID) {
        guard depth < Self.maximumRecursionDepth, spend(1) else {
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

    /// Validates a member or an element of the current part.
    @inline(never)
    mutating func descend(to part: PathElement, _ value: JSONValue, _ id: SchemaNodeID) {
        let wasSecret = isSecret
        if path.isEmpty, !secretKeys.isEmpty, case .name(let key) = part {
            isSecret = secretKeys.contains(UTF8Text(key))
        }
        path.append(part)
        check(value, id)
        path.removeLast()
        isSecret = wasSecret
    }

    /// Validates the name of a member as a string.
    mutating func checkName(_ name: String, _ id: SchemaNodeID) {
        guard !isValid(.string(name), id), !isExhausted else { return }
        let reason = isSecret ? "" : firstReason(.string(name), id).map { ": \($0)" } ?? ""
        fail(at: .name(name), "propertyNames", "the name is not allowed\(reason)")
    }

    /// True if a value is valid under all given schemas. Adds no violations.
    mutating func allows(_ value: JSONValue, _ roots: [SchemaNodeID]) -> Bool {
        for root in roots where !isValid(value, root) || isExhausted { return false }
        return true
    }

    /// True if a value is valid under a node. Adds no violations. If the check exhausts the budget, ``isExhausted`` is
    /// true, and the result has no meaning.
    mutating func isValid(_ value: JSONValue, _ id: SchemaNodeID) -> Bool {
        let outer = (isQuiet, failed)
        isQuiet = true
        failed = false
        check(value, id)
        let isValid = !failed
        (isQuiet, failed) = outer
        return isValid
    }

    /// Returns the reason why a node refuses `value`, which is the current part or the name of a member. Returns nil if
    /// the message must not contain a reason, or if the search for the reason exhausts its budget.
    @inline(never)
    mutating func firstReason(_ value: JSONValue, _ id: SchemaNodeID) -> String? {
        guard !isQuiet, !isForReason, reasonSteps > 0 else { return nil }
        var validator = SchemaValidator(
            nodes: nodes, maximumFindings: 1, secretKeys: path.isEmpty ? secretKeys : [], steps: reasonSteps)
        validator.isForReason = true
        validator.depth = depth
        validator.validate(value, against: [id], isSecret: isSecret)
        reasonSteps = validator.steps
        return validator.isExhausted ? nil : validator.findings.first?.violation.detailWithLocation
    }

    /// Returns `; did you mean …?`. Returns an empty string if the message must not contain a suggestion, or if the
    /// search would take too long.
    mutating func suggestion(for name: String, among known: some Collection<String>) -> String {
        let cost = known.count * 32
        guard !isQuiet, !isSecret, !isForReason, cost <= Self.maximumReasonSteps else { return "" }
        reasonSteps -= cost
        return reasonSteps >= 0 ? NameSuggestion.phrase(for: name, among: known) : ""
    }

    /// True if a pattern matches, or if the search exhausts the budget; the value then counts as invalid anyway.
    /// Subtracts the steps of the search from the budget.
    mutating func matches(_ text: String, _ pattern: Pattern) -> Bool {
        // A search begins with an allocation for all states, so its cost depends on the number of states.
        guard spend(pattern.stateCount / 16) else { return true }
        var budget = patternSteps
        let matches = pattern.matches(text, budget: &budget)
        steps -= (patternSteps - budget) / Self.patternStepsPerStep
        patternSteps = budget
        if matches == nil { isExhausted = true }
        return matches ?? true
    }

    /// Subtracts steps from the budget. Returns false if the budget is exhausted.
    mutating func spend(_ cost: Int) -> Bool {
        steps -= cost
        if steps < 0 { isExhausted = true }
        return !isExhausted
    }

    /// Adds a violation that shows the current part of the value. Not inlined, because every rule calls this method and
    /// few values are invalid. The texts are closures, because making texts that no violation contains would take most
    /// of the time of a validation.
    @inline(never)
    mutating func fail(
        _ keyword: String, _ demand: @autoclosure () -> String, _ value: JSONValue,
        expected: @autoclosure () -> JSONValue?
    ) {
        fail(keyword, demand(), value, found: value.briefPhrase, expected: expected())
    }

    /// Adds a violation of the current part with a description of the value.
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

    /// Adds a violation that shows only the rule, for the current part or a part of it.
    @inline(never)
    mutating func fail(at part: PathElement? = nil, _ keyword: String, _ demand: @autoclosure () -> String) {
        failed = true
        if !isQuiet { add(keyword, demand(), at: path + (part.map { [$0] } ?? [])) }
    }

    private mutating func add(
        _ keyword: String, _ detail: String, at path: [PathElement], expected: JSONValue? = nil,
        actual: JSONValue? = nil
    ) {
        guard findings.count < maximumFindings, listedText < maximumText else { return }
        let tokens = path.map { element in
            switch element {
            case .name(let name): name
            case .index(let index): String(index)
            }
        }
        // For a part of a secret, the message shows at most the key. The path begins with the key only if the root is
        // the object of all settings, which means that `secretKeys` is not empty.
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
            // If the schema demands an integer, the message shows the value, such as 1.5, because 1.0 would be valid.
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
