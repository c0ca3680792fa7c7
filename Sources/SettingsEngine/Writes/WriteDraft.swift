internal import SettingsAPI
internal import SettingsModel

/// A write that is being decided: the keys that it touches, over a state that stays as it is.
///
/// Each operation sees what those before it did. Values are checked against schemas in the end, by ``check()``.
struct WriteDraft {
    /// A key that the write touches, before and after. An object, so that operations which find it again change it in place.
    final class KeyDraft {
        let suite: SuiteName
        /// True if the suite is not there before the write.
        let isInNewSuite: Bool
        /// True if the schema has rules about the suite as a whole.
        let isUnderSuiteRules: Bool
        let before: KeyRecord
        let valueBefore: JSONValue?
        /// The rules of the key; nil in an open suite, and for a key that the schema does not admit.
        let schema: KeySchema?
        /// True if the key is a secret that the writer may not read. Storing a value always changes it then: that it was
        /// the same would tell the value.
        let isHidden: Bool
        /// The value to store; nil for none.
        var stored: JSONValue?
        /// True if that is a secret, or was computed from one.
        var isStoredSecret: Bool
        /// True if an operation was done to it.
        var isChanged = false
        /// The place of the value in the request's body, for the pointers of violations.
        var place = JSONPointer.root
        /// True if the value was checked on the loop.
        var isChecked = false
        /// True if the suite does not admit the key, so that no operation is done to it.
        var isUnknown = false
        /// True if the write changes it; known once ``check()`` has compared the values, which may be long.
        var isDifferent = false

        init(
            _ before: KeyRecord, in suite: SuiteName, isNew: Bool, under rules: SchemaVersion?, schema: KeySchema?,
            isHidden: Bool
        ) {
            self.suite = suite
            isInNewSuite = isNew
            isUnderSuiteRules = rules?.schema.hasSuiteRules ?? false
            valueBefore = Suite.effectiveValue(of: before.key, before.standing, before.stored, under: rules)
            self.isHidden = isHidden
            stored = before.stored
            isStoredSecret = before.isSecret
            self.before = before
            self.schema = schema
        }

        var key: KeyName { before.key }
        /// True if the key is a secret, or what was stored before.
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

        var differs: Bool {
            guard isChanged else { return false }
            if isHidden, stored != nil { return true }
            return standing != before.standing || stored != before.stored
        }
    }

    /// The place where a request names a key. An unknown one is answered 404 in a path and 422 in a body.
    enum RequestLocation {
        case path
        case body(JSONPointer)
    }

    let request: WriteRequest
    let state: State
    /// The revision of the commit, if there is one.
    let revision: Revision
    let time: Timestamp
    /// True if storing something may create a suite.
    let createsSuites: Bool
    /// The most keys that the write may change.
    let commitKeys: Int
    let quotas: Quotas
    private(set) var keyDrafts: [KeyDraft] = []
    /// The keys named in the body that their suites do not admit. They are reported with the violations.
    private(set) var unknown: [UnknownKey] = []
    private var index: [KeyAddress: KeyDraft] = [:]
    /// The extent that the results of changes in place may still have, all together.
    private var remainingResultExtent = 16 << 20
    /// The steps of checking that all names and values of the write may still take, together: each has a budget of its own,
    /// and there may be very many.
    var steps: Int
    static let stepsPerKey = 32

    /// A key that a body names and that its suite does not admit.
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

    /// Returns the key among those that are keyDrafts, where it is added if it is new.
    ///
    /// - Parameter isRemoval: true if the key is only removed, which one that the schema does not admit may be.
    mutating func findOrAddKey(
        _ suite: Suite?, _ name: SuiteName, _ key: KeyName, namedIn location: RequestLocation, isRemoval: Bool = false
    ) throws(Problem) -> KeyDraft {
        if let known = find(key, in: name) {
            if !isRemoval, let suite, known.schema == nil { try reportUnknownKey(suite, known, namedIn: location) }
            return known
        }
        let new = try makeKeyDraft(suite, name, key, namedIn: location, isRemoval: isRemoval)
        keyDrafts.append(new)
        // One key is found without an index, which most writes then never need.
        if keyDrafts.count == 2 { index[KeyAddress(suite: keyDrafts[0].suite, key: keyDrafts[0].key)] = keyDrafts[0] }
        if keyDrafts.count >= 2 { index[KeyAddress(suite: name, key: key)] = new }
        return new
    }

    /// Returns a key that the write has not keyDrafts, without adding it to those that are: enough for a write of one key.
    mutating func makeKeyDraft(
        _ suite: Suite?, _ name: SuiteName, _ key: KeyName, namedIn location: RequestLocation, isRemoval: Bool
    ) throws(Problem) -> KeyDraft {
        guard suite != nil || createsSuites else { throw state.unknownSuite(name, for: request.reader, isClosed: true) }
        try checkCount(keyDrafts.count + 1)
        let before = suite?.record(key) ?? KeyRecord(unset: key, revision: state.lastDrop)
        steps += Self.stepsPerKey
        let rules = suite?.schema
        let schema = rules?.schema.key(key.text, steps: &steps)
        try checkSteps()
        let isHidden = request.reader != nil && suite?.isHidden(before, from: request.reader) ?? false
        let new = KeyDraft(before, in: name, isNew: suite == nil, under: rules, schema: schema, isHidden: isHidden)
        if rules != nil, schema == nil, let suite, !isRemoval || new.before.stored == nil {
            try reportUnknownKey(suite, new, namedIn: location)
        }
        return new
    }

    /// Notes that a suite does not admit a key, unless it is open.
    private mutating func reportUnknownKey(_ suite: Suite, _ key: KeyDraft, namedIn location: RequestLocation) throws(Problem) {
        guard suite.schema != nil else { return }
        guard case .body(let pointer) = location else { throw suite.unknownKey(key.key, for: request.reader) }
        key.isUnknown = true
        unknown.append(UnknownKey(suite: suite, key: key.key, pointer: pointer))
    }

    /// Notes that a condition names a key that its suite does not admit.
    mutating func reportUnknownKey(_ key: KeyName, in suite: Suite, at pointer: JSONPointer) {
        unknown.append(UnknownKey(suite: suite, key: key, pointer: pointer))
    }

    /// Inlined, as the draft is copied for a call.
    @inline(__always)
    private func find(_ key: KeyName, in suite: SuiteName) -> KeyDraft? {
        switch keyDrafts.count {
        case 0: nil
        case 1: keyDrafts[0].suite == suite && keyDrafts[0].key == key ? keyDrafts[0] : nil
        default: index[KeyAddress(suite: suite, key: key)]
        }
    }
}

/// Operations on a key.
extension WriteDraft {
    /// Stores a value, with integral numbers made integers where the schema asks for those.
    ///
    /// - Parameter isDerived: true if the value was computed from the one before, with which it is a secret.
    mutating func set(
        _ key: KeyDraft, to value: JSONValue, at place: JSONPointer = .root, isChecked: Bool = false,
        isDerived: Bool = false
    ) {
        key.isStoredSecret = isDerived && key.isStoredSecret || key.schema?.isSecret ?? false
        key.stored = isChecked ? value : key.schema.map { $0.normalized(value, steps: &steps) } ?? value
        key.isWritten = true
        key.pointer = place
        key.isChecked = isChecked
    }

    /// Removes what is stored.
    func remove(_ key: KeyDraft) {
        key.stored = nil
        key.isStoredSecret = false
        key.isWritten = true
    }

    /// Changes the value in place.
    ///
    /// - Parameter place: the place of the operation in the body.
    mutating func change(
        _ key: KeyDraft, by operation: InPlaceOperation, in suite: Suite?, at place: JSONPointer = .root
    ) throws(Problem) {
        if !key.isWritten && key.before.standing == .invalid, let suite { throw suite.invalidStored(key.before) }
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
        set(key, to: result, at: place, isDerived: true)
    }

    /// Throws if a result is too large, or if the request makes too many large ones. A value that grows with each request
    /// would otherwise take all memory.
    private mutating func checkResultExtent(of result: JSONValue, for key: KeyDraft) throws(Problem) {
        let before = remainingResultExtent
        guard result.subtractExtent(from: &remainingResultExtent),
            before - remainingResultExtent <= Self.largestResult
        else {
            throw Problem(
                .invalidOperation,
                "the result of changing \(key.key) of suite \(key.suite) in place is too large, or the request makes too many "
                    + "large ones; store the value as a whole, or in parts under several keys")
        }
    }

    /// About 16 MB of text, which is also what a body may bring.
    private static let largestResult = (2 << 20) + 1024

    /// The problem of an operation that could not be done to a key, or of a test in it that found another value.
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
        return problem
    }
}

/// The changes that the write makes.
extension WriteDraft {
    /// The changes, in the order in which the keys were keyDrafts first.
    func changes() -> [Change] {
        keyDrafts.filter(\.isDifferent).map { $0.change(revision: revision, time: time, by: request.origin) }
    }

    /// The suites that the write creates by storing something in them.
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

extension WriteDraft.KeyDraft {
    func change(revision: Revision, time: Timestamp, by origin: CommitOrigin?) -> Change {
        Change(
            suite: suite, key: key, old: valueBefore, new: value, oldSource: before.standing.source,
            source: standing.source, revision: revision, modified: time, isSecret: isSecret, origin: origin,
            record: Change.Record(before: before, isSecret: isStoredSecret))
    }

    /// The setting with the value that it would have, at the place in history that it has.
    var setting: SettingState {
        var setting = SettingState(
            suite: suite, key: key, value: isDifferent ? value : valueBefore, source: standing.source,
            revision: before.revision, modified: before.changeTime)
        setting.origin = before.origin
        setting.isSecret = isSecret
        setting.changed = isDifferent
        setting.previous = SettingState.Previous(
            value: valueBefore, source: before.standing.source, revision: before.revision)
        return setting
    }
}
