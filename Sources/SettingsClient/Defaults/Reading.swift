internal import SettingsAPI
internal import SettingsModel

/// Reads of one key from the replica.
///
/// The replica may not know the source of a value: whether the value is stored or a default of the schema. If the
/// effective value depends on the source, the client asks the daemon.
extension DefaultsReference {
    /// The value for a getter. Reports errors.
    var value: Value {
        if let cached = resolved.cachedReading {
            cached.registerRead()
            return cached.isDefault ? defaultValue : cached.value(as: Value.self)
        }
        return readAndReport().value ?? defaultValue
    }

    /// Reads a key that is not cached. If the suite is not loaded, the calling thread waits for the load. If the load
    /// fails, reports the error and returns the value on the command line or the registered default.
    func readAndReport() -> Reading<Value> {
        do {
            return try read()
        } catch {
            resolved.registerRead()
            // If another thread has loaded the suite between the failure and the registration of the read, Observation
            // does not announce this load. The key is then read again.
            if core.session.cursor != nil, let cell = resolved.cell, case .success = resolved.codec {
                return readReplica(cell, until: .now)
            }
            core.reportReadFailure(error, name)
            return Reading(
                value: resolved.argument ?? registeredDefault, problem: error, isReplicaValueUnreadable: true)
        }
    }

    private func read() throws(DefaultsError) -> Reading<Value> {
        // The key table has reported the error of an unusable key when it resolved the key.
        guard let cell = resolved.cell, case .success = resolved.codec else { return Reading() }
        let deadline = core.session.deadline
        try core.load(for: cell.name, until: deadline)
        return readReplica(cell, until: deadline)
    }

    /// The registered default of the key. Nil if there is no registered default, or if it is not a valid value of the
    /// key.
    private var registeredDefault: Value? {
        guard let json = resolved.name.flatMap(core.registeredDefault), case .success(let codec) = resolved.codec else {
            return nil
        }
        return try? codec.decode(json)
    }

    private func readReplica(_ cell: KeyCell, until deadline: ContinuousClock.Instant) -> Reading<Value> {
        compareWithSchema()
        moveValue(until: deadline)
        // If the value changes after this line, the version changes, and the tracker announces the change to Swift's
        // Observation. So both are read before the value.
        let (version, tracker) = (cell.version, cell.tracker)
        tracker.registerRead()
        // The value of a renamed key may still be under a former name, so reads of the former names are registered,
        // too.
        for cell in resolved.formerCells { cell.tracker.registerRead() }
        var keyState = keyState(cell.name)
        if keyState.needsSource {
            keyState.update(from: core.settingWithSource(keyState.settingToRead, cell.name, until: deadline))
        }
        let reading = reading(of: keyState)
        if keyState.isCacheable {
            resolved.cache(
                CachedReading(
                    reading, defaultValue: defaultValue, of: cell, version: version, tracker: tracker))
        }
        if resolved.recordProblem(of: reading), let problem = reading.problem { report(problem, .read) }
        return reading
    }

    /// Reads a key for an async method. Throws if the client cannot get the suite, the schema or the source of the
    /// value from the daemon, or if the schema does not allow the key's type.
    nonisolated(nonsending) func readOrThrow() async throws(DefaultsError) -> Reading<Value> {
        guard let key = resolved.name, case .success = resolved.codec else { return Reading() }
        if let reading = readingWithoutRequest() { return reading }
        try await core.load()
        if let cursor = core.session.schemaCursor, knownDifferences() == nil {
            _ = try await throwingDefaultsError { () async throws(BackendError) in
                try await core.session.fetchSchema(at: cursor)
            }
        }
        try compareWithSchema().throwIfTypesDiffer()
        await moveValueAndWait()
        var keyState = keyState(key)
        if keyState.needsSource { keyState.update(from: try await core.fetchSource(key)) }
        return reading(of: keyState)
    }

    /// Reads a key without a request. Returns nil if a request is necessary.
    private func readingWithoutRequest() -> Reading<Value>? {
        guard let key = resolved.name, core.session.isLoaded, !nextReaderMovesValue,
            knownDifferences()?.isEmpty ?? false
        else { return nil }
        if let cached = resolved.cachedReading { return cached.reading(as: Value.self) }
        let keyState = keyState(key)
        return keyState.needsSource ? nil : reading(of: keyState)
    }

    /// Reads a key from its state.
    func reading(of keyState: KeyState) -> Reading<Value> {
        var reading = reading(of: keyState.settingToRead, over: keyState.registered)
        reading.replicaJSON = keyState.visible.value
        return reading
    }

    /// Returns the state from which a key is read. Until the value of a renamed key has been moved to its new name, the
    /// key is read under a former name, unless a value seems to be stored under the new name.
    func keyState(_ key: KeyName) -> KeyState {
        let registered = core.registeredDefault(key)
        let formerNames = resolved.valueMove?.formerNamesInUse ?? []
        guard !formerNames.isEmpty else {
            let visible = core.session.visibleSetting(key)
            // While the effective value depends on an unknown source, each read must try again to get the source.
            return KeyState(
                visible: visible, settingToRead: visible, registered: registered,
                isCacheable: registered == nil || visible.source != nil)
        }
        // The settings of all names are read at one moment. Otherwise a move of the value between two reads could hide
        // the value under both names.
        let settings = core.session.visibleSettings([key] + formerNames)
        let visible = settings[key] ?? .unset
        var settingToRead = visible
        if !seemsStored(visible), let former = formerNames.lazy.compactMap({ settings[$0] }).first(where: \.mayBeStored)
        {
            settingToRead = ReplicaSetting(value: former.value, source: .stored, revision: nil)
        }
        // A value that appears under a former name does not change the version of the key, so the reading is not
        // cached.
        return KeyState(
            visible: visible, settingToRead: settingToRead, registered: registered, isCacheable: false,
            readsFormerNames: true)
    }

    /// Returns true if the key has a value on the command line, a stored value or a registered default.
    func hasKey() -> Bool {
        resolved.registerRead()
        // The call may wait for the daemon. A change during the wait replaces the tracker of the key
        // (``ValueTracker``), so the read is registered again with the new tracker.
        defer { resolved.registerRead() }
        guard let key = resolved.name else { return false }
        return resolved.argument != nil || core.registeredDefault(key) != nil || isSet()
    }

    /// Returns true if a value is stored for the key. Returns false and reports the error if the suite cannot be
    /// loaded.
    func isSet() -> Bool {
        resolved.registerRead()
        // As in `hasKey`, the read is registered again after the wait for the daemon.
        defer { resolved.registerRead() }
        guard let key = resolved.name else { return false }
        let deadline = core.session.deadline
        loadAndMoveValue(until: deadline)
        return core.isSet(key, until: deadline)
    }

    nonisolated(nonsending) func isStored() async throws(DefaultsError) -> Bool {
        _ = try resolved.codec.get()
        guard let key = resolved.name else { return false }
        try await core.load()
        await moveValueAndWait()
        return try await core.isStored(key)
    }

    nonisolated(nonsending) func hasValue() async throws(DefaultsError) -> Bool {
        if resolved.argument != nil { return true }
        if let key = resolved.name, core.registeredDefault(key) != nil { return true }
        return try await isStored()
    }
}

/// A snapshot of the state from which a key is read.
struct KeyState: Sendable {
    /// The setting under the present name of the key, with the program's pending writes applied.
    var visible: ReplicaSetting
    /// The setting under the present name or under a former name, from which the value is read.
    var settingToRead: ReplicaSetting
    /// The registered default.
    let registered: JSONValue?
    /// True if the state is valid until the version of the key changes.
    var isCacheable = true
    /// True if the value may appear under a former name of the key. The state is then not cacheable.
    var readsFormerNames = false

    /// True if the effective value depends on the source of the value, and the source is unknown. A stored value
    /// overrides the registered default. The registered default overrides a default of the schema.
    var needsSource: Bool { registered != nil && settingToRead.source == nil }

    /// Replaces the setting by the answer to the request for its source. If the daemon did not answer the request, the
    /// setting still has no source.
    mutating func update(from answer: ReplicaSetting) {
        visible = answer
        settingToRead = answer
        isCacheable = answer.source != nil && !readsFormerNames
    }

    /// The conditions of a write that was computed from the state. The conditions compare the value and not the
    /// revision: if the data of the daemon is replaced while the transaction waits, the same revision may mean another
    /// value.
    var tests: [Transaction.Condition.Test] {
        // With a registered default, a comparison of the value is not enough. A stored value overrides the registered
        // default, but an equal default of the schema does not.
        let source = visible.source.map { [Transaction.Condition.Test.stored($0.isStored)] } ?? []
        guard let value = visible.value else { return source.isEmpty ? [.stored(false)] : source }
        return source + [.value(value)]
    }

    /// Returns true if the current setting has the same value and the same source. An unknown source counts as the
    /// same.
    func isUnchanged(comparedTo current: ReplicaSetting) -> Bool {
        visible.value == current.value
            && (visible.source == current.source || visible.source == nil || current.source == nil)
    }
}

extension AdapterCore {
    /// Returns a setting with its source. If the source is unknown, the method asks the daemon and blocks the calling
    /// thread. During the pause after a request without an answer, the method sends no request. Without an answer, it
    /// returns the given setting.
    func settingWithSource(
        _ visible: ReplicaSetting, _ key: KeyName, until deadline: ContinuousClock.Instant
    ) -> ReplicaSetting {
        guard visible.source == nil, !session.isPaused else { return visible }
        do throws(BackendError) {
            let setting = try session.blocking(until: deadline) { [session] () async throws(BackendError) in
                try await session.fetch(key, replacesKnownRevision: false)
            }
            return ReplicaSetting(value: setting.value, source: setting.source, revision: setting.revision)
        } catch {
            report(DefaultsError(error), key.text, .read)
            return visible
        }
    }

    /// Reads a setting with its source from the daemon.
    nonisolated(nonsending) func fetchSource(_ key: KeyName) async throws(DefaultsError) -> ReplicaSetting {
        let setting = try await throwingDefaultsError { () async throws(BackendError) in
            try await session.fetch(key, replacesKnownRevision: false)
        }
        return ReplicaSetting(value: setting.value, source: setting.source, revision: setting.revision)
    }

    /// Returns true if a value is stored under a key. May block the calling thread.
    ///
    /// - Parameter seemsStored: decides about a setting whose source is unknown, if the daemon does not answer.
    private func isStored(
        _ key: KeyName, until deadline: ContinuousClock.Instant, seemsStored: (ReplicaSetting) -> Bool = { _ in true }
    ) throws(DefaultsError) -> Bool {
        try load(for: key, until: deadline)
        let setting = settingWithSource(session.visibleSetting(key), key, until: deadline)
        return setting.source?.isStored ?? seemsStored(setting)
    }

    nonisolated(nonsending) func isStored(_ key: KeyName) async throws(DefaultsError) -> Bool {
        try await load()
        if let source = session.visibleSetting(key).source { return source.isStored }
        return try await fetchSource(key).source?.isStored ?? true
    }

    /// Returns true if the client knows of no stored value for a key. If the daemon does not answer and the suite is
    /// not loaded, the method returns true, because the daemon checks the condition of a set-if-absent write anyway.
    ///
    /// - Parameter seemsStored: decides about a setting whose source is unknown, if the daemon does not answer.
    func isAbsent(
        _ key: KeyName, until deadline: ContinuousClock.Instant, seemsStored: (ReplicaSetting) -> Bool = { _ in true }
    ) throws(DefaultsError) -> Bool {
        do {
            return try !isStored(key, until: deadline, seemsStored: seemsStored)
        } catch {
            guard case .unreachable = error else { throw error }
            return true
        }
    }

    /// Returns true if a value is stored. Returns false and reports the error if the suite cannot be loaded.
    func isSet(_ key: KeyName, until deadline: ContinuousClock.Instant) -> Bool {
        do {
            return try isStored(key, until: deadline)
        } catch {
            reportReadFailure(error, key.text)
            return false
        }
    }

    /// Returns true if none of the keys has changed since its state was read.
    func areUnchanged(_ keyStates: [KeyName: KeyState]) -> Bool {
        let current = session.visibleSettings(Array(keyStates.keys))
        return keyStates.allSatisfy { key, keyState in keyState.isUnchanged(comparedTo: current[key] ?? .unset) }
    }
}
