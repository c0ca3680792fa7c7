internal import SettingsAPI
internal import SettingsModel

/// Writes to a suite, a named set of settings, as a whole: merge, replace, reset, and drop.
///
/// A draft is a write that is being decided: checked against the staged state (the newest state, with the commits that
/// are not durable yet), to compute its commit or its refusal. A method adds the keys of the write to the draft, checks
/// the guards (preconditions such as `If-Match`), changes the keys in the draft, and makes the decision. A schema can
/// lock keys (declare them read-only). A caller with the right `override` can write locked keys.
extension WriteDraft {
    /// Merges a map into the suite (RFC 7396): null removes the key, an object is merged into the effective value (the
    /// stored value, otherwise the default of the schema), and any other value is stored.
    mutating func merge(_ name: SuiteName, _ values: JSONObject) throws(Problem) -> WriteDecision {
        let suite = state.suite(name)
        let names = try validNames(of: values, in: suite, isMerged: true)
        let keys = try addKeys(names, of: values, in: suite, name, removesNull: true)
        try checkGuards(of: name)
        for (position, key) in keys.enumerated() {
            let value = values.members[position].value
            let pointer = JSONPointer([values.members[position].name])
            if value.isNull {
                remove(key)
                continue
            }
            // If the key has no value, the object is merged into null. A merge into null removes the null members of
            // the object, so that the same merge changes nothing if a client sends it again. The result of merging an
            // object is derived from the present value, and is a secret if that value is a secret.
            do {
                let merged = try (key.value ?? .null).merging(value)
                set(key, to: merged, at: pointer, isDerived: value.object != nil)
            } catch {
                throw problem(error, in: "merge", of: key)
            }
        }
        return try checkAndDecide(target: .suite(name))
    }

    /// Replaces all stored values of the suite with a map, and removes the stored keys that the map does not have.
    ///
    /// Unless the request overrides locks, this method ignores a member that repeats the present value of a locked key.
    /// A client can therefore read a map, change other keys in the map, and send the map back.
    mutating func replace(_ name: SuiteName, _ values: JSONObject) throws(Problem) -> WriteDecision {
        let suite = state.suite(name)
        var written = values
        if let suite, !request.overridesLocks {
            let restrictedGrants = request.restrictedGrants
            if values.contains(where: { suite.repeatsLockedValue($0, for: restrictedGrants) }) {
                written.removeAll { suite.repeatsLockedValue($0, for: restrictedGrants) }
            }
        }
        let names = try validNames(of: written, in: suite, isMerged: false)
        try checkLocks(in: suite) { values[$0.name] == nil }
        let keys = try addKeys(names, of: written, in: suite, name, removesNull: false)
        try checkGuards(of: name)
        for (position, key) in keys.enumerated() {
            let member = written.members[position]
            set(key, to: member.value, at: [member.name])
        }
        if let suite {
            for record in suite.records.elements where record.stored != nil && values[record.name] == nil {
                let key = try findOrAddKey(suite, name, record.key, namedIn: .notInRequest, isRemoval: true)
                remove(key)
            }
        }
        return try checkAndDecide(target: .suite(name))
    }

    /// Removes the stored values of the keys that begin with a prefix. If the prefix is empty and the suite has more
    /// keys than one commit may change, removes only a part of the stored values.
    mutating func reset(_ name: SuiteName, prefix: String) throws(Problem) -> WriteDecision {
        let suite = try requireSuite(name)
        if prefix.isEmpty, let part = firstPart(of: suite) {
            try checkRules(ofEmptied: suite)
            return try removePart(part, of: suite)
        }
        var keys: [KeyName] = []
        suite.records.forEach(prefix: prefix) { record in
            if record.stored != nil { keys.append(record.key) }
            return true
        }
        for key in keys { try checkLock(key, in: suite) }
        try checkKeyCount(keys.count)
        try checkGuards(of: name)
        for key in keys {
            let key = try findOrAddKey(suite, name, key, namedIn: .notInRequest, isRemoval: true)
            // This call is a separate statement, because `remove(try findOrAddKey(…))` copies the whole draft in a
            // debug build.
            remove(key)
        }
        return try checkAndDecide(target: .suite(name))
    }

    /// Removes the suite and its schema. If the suite has more keys than one commit may change, removes only a part of
    /// the stored values.
    mutating func drop(_ name: SuiteName) throws(Problem) -> WriteDecision {
        let suite = try requireSuite(name)
        if let part = firstPart(of: suite) { return try removePart(part, of: suite) }
        try checkLocks(in: suite) { _ in true }
        // A dry run and a write that must be one commit are not split into parts, so the limit applies to all keys.
        if request.isDryRun || request.takesOneCommit { try checkKeyCount(suite.records.count) }
        try checkGuards(of: name)
        let changes = suite.records.elements.compactMap { record -> Change? in
            guard record.valueSource != .unset else { return nil }
            return Change(from: record, of: suite, to: nil, schema: nil, revision: revision, time: time, steps: &steps)
        }
        var dropped = SuiteChange(name, .dropped, recordingOldSchemaOf: suite)
        // A read of the past needs the revisions (numbers of commits) of the keys without a value. `changes` does not
        // contain these keys.
        dropped.forgotten = suite.forgottenKeys
        return try decide(target: .suite(name), suites: [dropped], changes: changes)
    }

    /// Returns the first keys with a stored value, as many as one commit may change. Returns nil if the suite has no
    /// other keys with a stored value, for a dry run, and for a write that must be one commit.
    private func firstPart(of suite: Suite) -> [KeyName]? {
        guard suite.records.count > commitKeys, !request.isDryRun, !request.takesOneCommit else { return nil }
        var keys: [KeyName] = []
        var hasMore = false
        suite.records.forEach { record in
            guard record.stored != nil else { return true }
            hasMore = keys.count == commitKeys
            if !hasMore { keys.append(record.key) }
            return !hasMore
        }
        return hasMore ? keys : nil
    }

    /// Removes the stored values of a part of the keys. The request resets or drops the suite, and a single commit of
    /// all keys would delay other writes for too long. The answer contains the remaining request. The schema's rules
    /// about the suite as a whole need not hold between the parts. `reset` checks these rules for the suite without any
    /// stored value, and `drop` removes the schema.
    private mutating func removePart(_ part: [KeyName], of suite: Suite) throws(Problem) -> WriteDecision {
        try checkLocks(in: suite) { _ in true }
        try checkGuards(of: suite.id)
        for key in part {
            let key = try findOrAddKey(suite, suite.id, key, namedIn: .notInRequest, isRemoval: true)
            remove(key)
            // `check()` sets this property for other writes, but is not called for a part.
            key.isDifferent = true
        }
        var decision = try decide(target: .suite(suite.id), suites: [], changes: changes())
        // The guards of the request apply to the suite before the first part. Only the last commit has the request key
        // (`Idempotency-Key`), so that a repeated request continues the removal.
        decision.commit?.requestKey = nil
        decision.commit?.requestDigest = nil
        var remainder = request
        remainder.guards = []
        decision.answer.remainder = WriteAnswer.Remainder(remainder)
        return decision
    }

    /// Returns the keys that the members of a map name. Throws if a name is not a valid key, if a key is locked, or if
    /// a merge needs a secret that the caller may not read.
    private mutating func validNames(
        of values: JSONObject, in suite: Suite?, isMerged: Bool
    ) throws(Problem) -> [KeyName] {
        var names: [KeyName] = []
        names.reserveCapacity(values.count)
        for member in values {
            do {
                names.append(try KeyName(member.name))
            } catch {
                var problem = Problem(error)
                problem.pointer = [member.name]
                throw problem
            }
            try checkLock(names[names.count - 1], in: suite)
            // A merge of an object reads the present value, so the caller must be allowed to read it.
            if isMerged, member.value.object != nil { try checkSecret(names[names.count - 1], in: suite) }
        }
        return names
    }

    /// Adds the keys of a map to the draft, in the order of the map. If `removesNull`, a null member removes its key.
    private mutating func addKeys(
        _ names: [KeyName], of values: JSONObject, in suite: Suite?, _ name: SuiteName, removesNull: Bool
    ) throws(Problem) -> [KeyDraft] {
        try checkKeyCount(names.count)
        var keys: [KeyDraft] = []
        keys.reserveCapacity(names.count)
        for (index, key) in names.enumerated() {
            let member = values.members[index]
            keys.append(
                try findOrAddKey(
                    suite, name, key, namedIn: .body([member.name]), isRemoval: removesNull && member.value.isNull))
        }
        return keys
    }

    /// Throws if a locked key has a stored value that the write removes. `isAffected` returns true for the keys whose
    /// values the write removes.
    private mutating func checkLocks(in suite: Suite?, where isAffected: (KeyRecord) -> Bool) throws(Problem) {
        guard let suite, suite.schema != nil, !request.overridesLocks else { return }
        for record in suite.records.elements where record.stored != nil && isAffected(record) {
            try checkLock(record.key, in: suite)
        }
    }
}

extension Suite {
    /// True if a member names a locked key that the caller may read, and repeats the present value of the key.
    /// `restrictedGrants` is the grants (rights) of a caller that may not read everything; otherwise nil.
    fileprivate func repeatsLockedValue(_ member: JSONObject.Member, for restrictedGrants: Grants?) -> Bool {
        guard let key = try? KeyName(member.name), isLocked(key), let listed = schema?.schema.key(key.text) else {
            return false
        }
        let record = record(key)
        guard !isHidden(record, from: restrictedGrants) else { return false }
        return (record.stored ?? effectiveValue(of: record)) == listed.normalized(member.value)
    }
}

extension SuiteChange {
    /// Makes a change that sets or removes the schema of a suite, or drops the suite. The change records the old schema
    /// and the old revisions, so that an undo or a read of the past can restore them.
    init(_ name: SuiteName, _ kind: Kind, recordingOldSchemaOf suite: Suite?) {
        let replaced = suite?.schema.map {
            ReplacedSchema(document: $0.schema.document, text: $0.schema.text, revision: $0.revision)
        }
        let revisionOfRemoval = replaced == nil ? suite?.schemaRevision : nil
        self.init(
            suite: name, kind: kind, replaced: replaced, oldRevision: suite?.revision,
            oldSchemaRevision: revisionOfRemoval == .zero ? nil : revisionOfRemoval)
    }
}
