internal import SettingsAPI
internal import SettingsModel

/// A write in the making: what it would store, over the state that it would change.
///
/// Operations see what those before them did. Nothing is checked against schemas until ``finish`` looks at the values
/// that are left in the end.
struct Draft {
    /// A key that the write touches.
    struct Touched {
        let suite: SuiteName
        let before: KeyRecord
        let valueBefore: JSONValue?
        /// What the schema says of the key; nil in an open suite and for a leftover.
        let schema: KeySchema?
        /// What will be stored; nil for nothing.
        var stored: JSONValue?
        /// Whether that is a secret, or was made of one.
        var isStoredSecret: Bool
        /// Whether something was done to it yet.
        var isChanged = false
        /// Where in the request's body the value stands, for the pointers of violations.
        var place = JSONPointer.root
        /// Whether the value was checked already.
        var isChecked = false
        /// Whether the suite does not admit the key, so that nothing can be done to it.
        var isUnknown = false

        var key: KeyName { before.key }
        /// Whether the key is a secret, or what was stored before.
        var isSecret: Bool { schema?.isSecret ?? false || before.isSecret }

        /// The value that the next operation sees.
        var value: JSONValue? {
            guard isChanged else { return valueBefore }
            return stored ?? schema?.defaultValue
        }

        var standing: KeyRecord.Standing {
            guard isChanged else { return before.standing }
            return stored != nil ? .stored : schema?.defaultValue != nil ? .default : .unset
        }

        var isDifferent: Bool {
            guard isChanged else { return false }
            return standing != before.standing || stored != before.stored
        }
    }

    /// Where a key was named: what decides the status of its not being known.
    enum Naming {
        case path
        case body(JSONPointer)
    }

    let state: State
    /// Whether storing something may bring a suite into being.
    private let opensSuites: Bool
    private(set) var touched: [Touched] = []
    /// Keys named in the body that their suites do not admit: told of when everything else was looked at.
    private(set) var unknown: [UnknownKey] = []
    private var positions: [Address: Int] = [:]
    /// What results of changes in place may still weigh, all together.
    private var allowance = 16 << 20

    /// A key that a body names and that its suite does not admit.
    struct UnknownKey {
        let suite: Suite
        let key: KeyName
        /// Where the body names it.
        let pointer: JSONPointer
    }

    private struct Address: Hashable {
        let suite: SuiteName
        let key: KeyName
    }

    init(_ state: State, opensSuites: Bool) {
        self.state = state
        self.opensSuites = opensSuites
    }

    subscript(_ position: Int) -> Touched {
        get { touched[position] }
        _modify { yield &touched[position] }
    }

    /// Makes room for a key and says where it is.
    ///
    /// - Parameter isRemoval: whether the key is only to be removed, which a leftover of another schema may be.
    mutating func touch(
        _ suite: Suite?, _ name: SuiteName, _ key: KeyName, named naming: Naming, isRemoval: Bool = false
    ) throws(Problem) -> Int {
        if let position = position(of: name, key) {
            if !isRemoval, let suite, touched[position].schema == nil { try refuse(suite, position, named: naming) }
            return position
        }
        guard suite != nil || opensSuites else { throw state.unknownSuite(name, isClosed: true) }
        let before =
            suite?.record(key)
            ?? KeyRecord(
                key: key, stored: nil, standing: .unset, revision: state.lastDrop,
                modified: Timestamp(milliseconds: 0))
        let schema = suite?.schema?.schema.key(key.text)
        touched.append(
            Touched(
                suite: name, before: before, valueBefore: suite?.effectiveValue(of: before), schema: schema,
                stored: before.stored, isStoredSecret: before.isSecret))
        if let suite, schema == nil, !(isRemoval && before.stored != nil) {
            try refuse(suite, touched.count - 1, named: naming)
        }
        // One key is found without an index, which most writes then never need.
        if touched.count == 2 {
            positions[Address(suite: touched[0].suite, key: touched[0].key)] = 0
        }
        if touched.count >= 2 { positions[Address(suite: name, key: key)] = touched.count - 1 }
        return touched.count - 1
    }

    /// Notes that a suite does not admit a key, unless it is an open one.
    private mutating func refuse(_ suite: Suite, _ position: Int, named naming: Naming) throws(Problem) {
        guard suite.schema != nil else { return }
        let key = touched[position].key
        guard case .body(let pointer) = naming else { throw suite.unknownKey(key) }
        touched[position].isUnknown = true
        unknown.append(UnknownKey(suite: suite, key: key, pointer: pointer))
    }

    /// Notes that a condition names a key that its suite does not admit.
    mutating func refuse(_ key: KeyName, in suite: Suite, at pointer: JSONPointer) {
        unknown.append(UnknownKey(suite: suite, key: key, pointer: pointer))
    }

    private func position(of suite: SuiteName, _ key: KeyName) -> Int? {
        switch touched.count {
        case 0: nil
        case 1: touched[0].suite == suite && touched[0].key == key ? 0 : nil
        default: positions[Address(suite: suite, key: key)]
        }
    }
}

/// What operations do to a key.
extension Draft {
    /// Stores a value, with integral numbers made integers where the schema asks for those.
    ///
    /// - Parameter isDerived: whether the value was made of the one before, with which it is a secret.
    mutating func set(
        _ position: Int, to value: JSONValue, at place: JSONPointer = .root, isChecked: Bool = false,
        isDerived: Bool = false
    ) {
        let isOldSecret = isDerived && touched[position].isStoredSecret
        touched[position].isStoredSecret = isOldSecret || touched[position].schema?.isSecret ?? false
        touched[position].stored =
            isChecked ? value : touched[position].schema.map { $0.normalized(value) } ?? value
        touched[position].isChanged = true
        touched[position].place = place
        touched[position].isChecked = isChecked
    }

    /// Removes what is stored.
    mutating func remove(_ position: Int) {
        touched[position].stored = nil
        touched[position].isStoredSecret = false
        touched[position].isChanged = true
    }

    /// Changes the value in place.
    ///
    /// - Parameter place: where the body asks for it, if that asks for several things.
    mutating func change(
        _ position: Int, by operation: InPlaceOperation, in suite: Suite?, at place: JSONPointer = .root
    ) throws(Problem) {
        let key = touched[position]
        if !key.isChanged && key.before.standing == .invalid, let suite { throw suite.invalidStored(key.before) }
        guard let value = key.value else {
            throw suite?.notSet(key.key)
                ?? Problem(.notSet, "\(key.key) of suite \(key.suite) is not set and has no default")
        }
        let result: JSONValue
        do {
            result = try operation.applied(to: value, holdsIntegers: key.schema?.holdsIntegers ?? false)
        } catch {
            throw problem(error, in: operation.name, at: position)
        }
        try weigh(result, of: key)
        set(position, to: result, at: place, isDerived: true)
    }

    /// Bounds what changing in place may come to: a value that grows with each request, and a request that makes a large
    /// value over and over, would otherwise take all memory and all time.
    private mutating func weigh(_ result: JSONValue, of key: Touched) throws(Problem) {
        let before = allowance
        guard result.isWithin(&allowance), before - allowance <= Self.heaviestResult else {
            throw Problem(
                .invalidOperation,
                "the result of changing \(key.key) of suite \(key.suite) in place is too large, or the request makes too many "
                    + "large ones; store the value as a whole, or in parts under several keys")
        }
    }

    /// About 16 MB of text, which is also what a body may bring.
    private static let heaviestResult = (2 << 20) + 1024

    /// That an operation could not be done to a key, or that a test in it found another value.
    func problem(_ error: OperationError, in operation: String, at position: Int) -> Problem {
        let key = touched[position]
        var problem = Problem(error, ofSecret: key.isSecret)
        switch error.kind {
        case .testFailed: problem.current = state.current(key.suite, key.key)
        case .invalid:
            problem.errors = [
                Violation(
                    suite: key.suite.text, key: key.key.text, pointer: problem.pointer ?? .root, keyword: operation,
                    detail: problem.detail)
            ]
        }
        return problem
    }
}
