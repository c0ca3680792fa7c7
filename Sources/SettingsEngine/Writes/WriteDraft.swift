internal import SettingsAPI
internal import SettingsModel

/// A write that is being decided: a state, which does not change, and a draft of each key that the write names. To
/// decide a write is to check it against the state, and to compute its commit (an atomic change of settings) or its
/// refusal. A suite is a named set of settings.
///
/// The operations change the drafts of the keys one after another, so each operation sees the results of earlier
/// operations. ``check()`` validates the final values against the schemas. The decision has a change for each draft
/// that differs from the state.
struct WriteDraft {
    /// The part of a request that names a key. The status for an unknown key is 422 in a body, and otherwise 404.
    enum RequestLocation {
        case path
        case body(JSONPointer)
        /// Not in the request: the key comes from stored data, for example from the commit that the request undoes.
        case notInRequest
    }

    let request: WriteRequest
    let state: State
    /// The revision (the number) and the time of the commit of the write.
    let revision: Revision
    let time: Timestamp
    /// True if storing a value may create a suite.
    let createsSuites: Bool
    /// The maximum number of keys that the write may change or check.
    let commitKeys: Int
    let quotas: Quotas
    /// The drafts of the keys, in the order in which the write first names the keys.
    private(set) var keyDrafts: [KeyDraft] = []
    /// The keys in the request body that the schemas do not admit. The error lists these keys and the invalid values.
    private(set) var unknownKeys: [UnknownKey] = []
    /// The drafts by key. The dictionary is empty while the write has fewer than two drafts, because most writes name
    /// one key.
    private var draftsByKey: [KeyAddress: KeyDraft] = [:]
    /// The total extent that the results of further in-place changes may have. The extent of a JSON value is one unit
    /// for each JSON value in it, and one unit for each eight bytes of text. The initial value is the extent of 128 MB
    /// of text, which limits the memory that one request can use.
    private var remainingResultExtent = 16 << 20
    /// The remaining validation steps of the whole write. Each value also has its own limit of steps.
    var steps: Int
    /// The validation steps that each key adds to ``steps``. They suffice for the lookup of the key in most schemas, so
    /// that a write of many keys does not exhaust ``steps``.
    static let stepsPerKey = 32

    /// A key in a request body that the schema of its suite does not admit.
    struct UnknownKey {
        let suite: Suite
        let key: KeyName
        let pointer: JSONPointer
    }

    init(
        request: WriteRequest, state: State, revision: Revision, time: Timestamp, createsSuites: Bool, commitKeys: Int,
        quotas: Quotas
    ) {
        self.request = request
        self.state = state
        self.revision = revision
        self.time = time
        self.createsSuites = createsSuites
        self.commitKeys = commitKeys
        self.quotas = quotas
        steps = request.steps
    }

    /// Returns the draft of a key. Adds the draft to ``keyDrafts`` if the write has not named the key before.
    ///
    /// - Parameter isRemoval: true to remove the key. A stored key may be removed even if the schema does not admit it.
    mutating func findOrAddKey(
        _ suite: Suite?, _ name: SuiteName, _ key: KeyName, namedIn location: RequestLocation, isRemoval: Bool = false
    ) throws(Problem) -> KeyDraft {
        if let known = find(key, in: name) {
            if !isRemoval, let suite, known.schema == nil { try reportUnknownKey(suite, known, namedIn: location) }
            return known
        }
        let new = try makeKeyDraft(suite, name, key, namedIn: location, isRemoval: isRemoval)
        keyDrafts.append(new)
        if keyDrafts.count == 2 {
            draftsByKey[KeyAddress(suite: keyDrafts[0].suite, key: keyDrafts[0].key)] = keyDrafts[0]
        }
        if keyDrafts.count >= 2 { draftsByKey[KeyAddress(suite: name, key: key)] = new }
        return new
    }

    /// Makes the draft of a key without adding it to ``keyDrafts``, for a write of a single key, which needs no list.
    mutating func makeKeyDraft(
        _ suite: Suite?, _ name: SuiteName, _ key: KeyName, namedIn location: RequestLocation, isRemoval: Bool
    ) throws(Problem) -> KeyDraft {
        guard suite != nil || createsSuites else {
            throw state.unknownSuite(name, for: request.restrictedGrants, refusesCreation: true)
        }
        try checkKeyCount(keyDrafts.count + 1)
        // The keys of a missing suite have the revision of the last commit that dropped a suite, so that an `If-Match`
        // with a tag from before the drop fails.
        let before = suite?.record(key) ?? KeyRecord(unset: key, revision: state.lastDropRevision)
        steps += Self.stepsPerKey
        let suiteSchema = suite?.schema
        let schema = suiteSchema?.schema.key(key.text, steps: &steps)
        try checkValidationSteps()
        let isHidden =
            request.restrictedGrants != nil && suite?.isHidden(before, from: request.restrictedGrants) ?? false
        let new = KeyDraft(
            before, in: name, isInNewSuite: suite == nil, under: suiteSchema, schema: schema, isHidden: isHidden)
        if suiteSchema != nil, schema == nil, let suite, !isRemoval || new.before.stored == nil {
            try reportUnknownKey(suite, new, namedIn: location)
        }
        return new
    }

    /// Reports a key that the schema of the suite does not admit. Adds the key to ``unknownKeys`` if the request body
    /// names the key, and otherwise throws an error. Does nothing for a suite without a schema.
    private mutating func reportUnknownKey(
        _ suite: Suite, _ key: KeyDraft, namedIn location: RequestLocation
    ) throws(Problem) {
        guard suite.schema != nil else { return }
        guard case .body(let pointer) = location else { throw suite.unknownKey(key.key, for: request.restrictedGrants) }
        key.isUnknown = true
        unknownKeys.append(UnknownKey(suite: suite, key: key.key, pointer: pointer))
    }

    /// Adds a key to ``unknownKeys`` that a condition of a transaction names and that the schema does not admit.
    mutating func reportUnknownKey(_ key: KeyName, in suite: Suite, at pointer: JSONPointer) {
        unknownKeys.append(UnknownKey(suite: suite, key: key, pointer: pointer))
    }

    /// Inlined, because the compiler would copy the whole `WriteDraft` for a call.
    @inline(__always)
    private func find(_ key: KeyName, in suite: SuiteName) -> KeyDraft? {
        switch keyDrafts.count {
        case 0: nil
        case 1: keyDrafts[0].suite == suite && keyDrafts[0].key == key ? keyDrafts[0] : nil
        default: draftsByKey[KeyAddress(suite: suite, key: key)]
        }
    }
}

/// Operations on a key.
extension WriteDraft {
    /// Sets the stored value of a key draft. Converts `1.0` to an integer if the schema requires an integer.
    /// `isChecked` is true if the value was validated before the write was queued. `isDerived` is true if the value was
    /// computed from the previous value. A value that was computed from a secret is a secret.
    mutating func set(
        _ key: KeyDraft, to value: JSONValue, at pointer: JSONPointer = .root, isChecked: Bool = false,
        isDerived: Bool = false
    ) {
        key.isStoredSecret = isDerived && key.isStoredSecret || key.schema?.isSecret ?? false
        key.stored = isChecked ? value : key.schema.map { $0.normalized(value, steps: &steps) } ?? value
        key.isWritten = true
        key.pointer = pointer
        key.isChecked = isChecked
    }

    func remove(_ key: KeyDraft) {
        key.stored = nil
        key.isStoredSecret = false
        key.isWritten = true
    }

    /// Changes the value of a key in place, for example adds to it. The pointer leads to the operation in the body.
    mutating func change(
        _ key: KeyDraft, by operation: InPlaceOperation, in suite: Suite?, at pointer: JSONPointer = .root
    ) throws(Problem) {
        if !key.isWritten && key.before.valueSource == .invalid, let suite { throw suite.invalidStored(key.before) }
        guard let value = key.value else {
            throw suite?.notSet(key.key)
                ?? Problem(.notSet, "\(key.key) of suite \(key.suite) is not set and has no default")
        }
        let result: JSONValue
        do {
            result = try operation.applied(to: value, holdsIntegers: key.schema?.holdsIntegers ?? false)
        } catch {
            throw problem(error, in: operation.name, of: key)
        }
        try checkResultExtent(of: result, for: key)
        set(key, to: result, at: pointer, isDerived: true)
    }

    /// Throws if the result of an in-place change, or all results of the write together, are too large. Without this
    /// limit, a value that grows with each request could use all memory.
    private mutating func checkResultExtent(of result: JSONValue, for key: KeyDraft) throws(Problem) {
        let remainingBefore = remainingResultExtent
        guard result.subtractExtent(from: &remainingResultExtent),
            remainingBefore - remainingResultExtent <= Self.maximumResultExtent
        else {
            throw Problem(
                .invalidOperation,
                "cannot change \(key.key) of suite \(key.suite) in place: the result is too large, or the request "
                    + "makes too many large results; store the whole value with a PUT, or divide it among several keys")
        }
    }

    /// The maximum extent of one result: the extent of about 16 MB of text, the default limit of a request body.
    private static let maximumResultExtent = (2 << 20) + 1024

    /// Makes the error of an in-place operation that failed: the operation cannot be applied to the value, or the
    /// operation has a test that the value does not pass.
    func problem(_ error: OperationError, in operation: String, of key: KeyDraft) -> Problem {
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
        problem.detail = "cannot change \(key.key) of suite \(key.suite): \(problem.detail)"
        return problem
    }
}

/// The changes that the write makes.
extension WriteDraft {
    /// The changes of keys, in the order in which the write first names the keys.
    func changes() -> [Change] {
        keyDrafts.filter(\.isDifferent).map { $0.change(revision: revision, time: time, by: request.origin) }
    }

    /// The creations of the suites that do not exist before the write and in which the write stores a value.
    func createdSuites() -> [SuiteChange] {
        var created: [SuiteChange] = []
        var names: Set<SuiteName> = []
        for key in keyDrafts where key.isInNewSuite && key.isDifferent && key.stored != nil {
            guard names.insert(key.suite).inserted else { continue }
            created.append(SuiteChange(suite: key.suite, kind: .created))
        }
        return created
    }
}
