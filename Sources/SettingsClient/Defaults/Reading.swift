internal import SettingsAPI
internal import SettingsModel

/// Reading: from the replica, and from the daemon if the replica is not enough.
extension DefaultsReference {
    /// The value for a plain getter. Errors are reported.
    var value: Value {
        if let cached = resolved.cached {
            cached.registerRead()
            return cached.isDefault ? defaultValue : cached.value(as: Value.self)
        }
        return readAndReport().value ?? defaultValue
    }

    /// Reads a key that is not cached. If the suite is not loaded, the calling thread waits for the first load. An error is
    /// reported, and the default is read.
    func readAndReport() -> Reading<Value> {
        do {
            return try read()
        } catch {
            resolved.registerRead()
            // The suite may have been loaded before the read was registered.
            if core.session.isLoaded, let reading = try? read() { return reading }
            core.reportUnread(error, name)
            return Reading(value: resolved.argument, problem: error, isStoredUnreadable: true)
        }
    }

    private func read() throws(DefaultsError) -> Reading<Value> {
        // An unusable key was reported when its resolved key was made.
        guard let cell = resolved.cell, case .success = resolved.codec else { return Reading() }
        let deadline = core.session.deadline
        try core.load(for: cell.name, until: deadline)
        _ = differences()
        takeOver(until: deadline)
        // Before the value, so that no change is missed.
        let (version, tracker) = (cell.version, cell.tracker)
        tracker.registerRead()
        // The value of a renamed key may still be under a former name.
        for cell in resolved.formerCells { cell.tracker.registerRead() }
        var sight = sight(cell.name)
        if sight.isUnsure { sight.learn(core.withSource(sight.origin, cell.name, until: deadline)) }
        let reading = reading(of: sight)
        if sight.isLasting {
            resolved.keep(
                CachedReading(
                    reading, defaultValue: defaultValue, of: cell, version: version, tracker: tracker))
        }
        if resolved.isNews(reading), let problem = reading.problem { report(problem, .read) }
        return reading
    }

    /// Reads a key for an async form, which insists on an answer of the daemon, and on a key that the schema allows.
    nonisolated(nonsending) func readInsisting() async throws(DefaultsError) -> Reading<Value> {
        guard let key = resolved.name, case .success = resolved.codec else { return Reading() }
        if let reading = readingAtOnce() { return reading }
        try await core.load()
        if let place = core.session.schema, knownDifferences() == nil {
            _ = try await throwingDefaultsError { () async throws(BackendError) in
                try await core.session.fetchSchema(at: place)
            }
        }
        try core.refuseAnotherType(differences())
        await takeOverAndWait()
        var sight = sight(key)
        if sight.isUnsure { sight.learn(try await core.fetchSource(key)) }
        return reading(of: sight)
    }

    /// Reads a key if that needs no request; otherwise nil.
    private func readingAtOnce() -> Reading<Value>? {
        guard let key = resolved.name, core.session.isLoaded, !(resolved.rename?.isOpen ?? false),
            knownDifferences()?.isEmpty ?? false
        else { return nil }
        if let cached = resolved.cached { return cached.reading(as: Value.self) }
        let sight = sight(key)
        return sight.isUnsure ? nil : reading(of: sight)
    }

    func reading(of sight: KeySight) -> Reading<Value> {
        var reading = resolve(sight.origin, over: sight.registered)
        reading.base = sight.visible.value
        return reading
    }

    /// The state from which a key is read. Until the value of a renamed key is taken over, the key is read under its former
    /// name.
    func sight(_ key: KeyName) -> KeySight {
        let seen = core.session.visible(key)
        let registered = core.registered(key)
        if let former = formerName(insteadOf: seen) {
            let old = VisibleSetting(value: core.session.visible(former).value, source: .stored, revision: nil)
            return KeySight(visible: seen, origin: old, registered: registered, isLasting: false)
        }
        var sight = KeySight(visible: seen, origin: seen, registered: registered)
        // The source may become known at any time, without a change of the key. A value may appear under a former name.
        if sight.isUnsure || !(resolved.rename?.openNames.isEmpty ?? true) { sight.isLasting = false }
        return sight
    }

    /// True if any layer above the defaults has a value for a key.
    func hasKey() -> Bool {
        resolved.registerRead()
        guard let key = resolved.name else { return false }
        return resolved.argument != nil || core.registered(key) != nil || isSet()
    }

    /// True if a value is stored for a key. False if that cannot be determined.
    func isSet() -> Bool {
        resolved.registerRead()
        guard let key = resolved.name else { return false }
        loadForRename()
        return core.isSet(key)
    }

    nonisolated(nonsending) func isStored() async throws(DefaultsError) -> Bool {
        _ = try resolved.codec.get()
        guard let key = resolved.name else { return false }
        try await core.load()
        await takeOverAndWait()
        return try await core.isStored(key)
    }

    nonisolated(nonsending) func hasValue() async throws(DefaultsError) -> Bool {
        if resolved.argument != nil { return true }
        if let key = resolved.name, core.registered(key) != nil { return true }
        return try await isStored()
    }
}

/// The state from which a key is read, at one moment.
struct KeySight: Sendable {
    /// The state of the key itself.
    var visible: VisibleSetting
    /// The state that the value is read from: the same state, or the state of a former name.
    var origin: VisibleSetting
    /// The registered default.
    let registered: JSONValue?
    /// True if the state is valid until the key changes.
    var isLasting = true

    /// True if it is not known which layer is the upper layer: a stored value lies over the registered default, a default of
    /// the schema lies under it.
    var isUnsure: Bool { registered != nil && origin.source == nil }

    /// Takes over the setting with its source.
    mutating func learn(_ answer: VisibleSetting) {
        visible = answer
        origin = answer
        isLasting = answer.source != nil
    }

    /// The conditions of a write that was computed from the state. Not the revision: a transaction may wait until the daemon
    /// is replaced by another daemon, where the number means another value.
    var tests: [Transaction.Condition.Test] {
        // The registered default lies between a stored value and an equal default of the schema.
        let source = visible.source.map { [Transaction.Condition.Test.stored($0.isStored)] } ?? []
        guard let value = visible.value else { return source.isEmpty ? [.stored(false)] : source }
        return source + [.value(value)]
    }

    /// True if the state is still the same, as far as is known.
    func holds(over now: VisibleSetting) -> Bool {
        visible.value == now.value && (visible.source == now.source || visible.source == nil || now.source == nil)
    }
}

extension AdapterCore {
    /// Returns a setting with its source. If the source is not known, the calling thread waits for an answer of the daemon,
    /// unless the daemon did not answer just before.
    func withSource(
        _ visible: VisibleSetting, _ key: KeyName, until deadline: ContinuousClock.Instant
    ) -> VisibleSetting {
        guard visible.source == nil, !session.isPaused else { return visible }
        do throws(BackendError) {
            let setting = try session.blocking(until: deadline) { [session] () async throws(BackendError) in
                try await session.fetch(key, isNewest: false)
            }
            return VisibleSetting(value: setting.value, source: setting.source, revision: setting.revision)
        } catch {
            report(DefaultsError(error), key.text, .read)
            return visible
        }
    }

    /// Reads a setting with its source from the daemon.
    nonisolated(nonsending) func fetchSource(_ key: KeyName) async throws(DefaultsError) -> VisibleSetting {
        let setting = try await throwingDefaultsError { () async throws(BackendError) in
            try await session.fetch(key, isNewest: false)
        }
        return VisibleSetting(value: setting.value, source: setting.source, revision: setting.revision)
    }

    /// True if a value is stored under a key. The calling thread may wait for the daemon.
    func isStored(_ key: KeyName) throws(DefaultsError) -> Bool {
        let deadline = session.deadline
        try load(for: key, until: deadline)
        // Without an answer, a value that is there counts as stored.
        return withSource(session.visible(key), key, until: deadline).source?.isStored ?? true
    }

    nonisolated(nonsending) func isStored(_ key: KeyName) async throws(DefaultsError) -> Bool {
        try await load()
        if let source = session.visible(key).source { return source.isStored }
        return try await fetchSource(key).source?.isStored ?? true
    }

    /// True if nothing is stored under a key, as far as is known. While the daemon is away, the write itself decides, because
    /// the daemon carries it out only if nothing is stored.
    func isAbsent(_ key: KeyName) throws(DefaultsError) -> Bool {
        do {
            return try !isStored(key)
        } catch {
            guard case .unreachable = error else { throw error }
            return true
        }
    }

    /// True if a value is stored. False if that cannot be determined.
    func isSet(_ key: KeyName) -> Bool {
        do {
            return try isStored(key)
        } catch {
            reportUnread(error, key.text)
            return false
        }
    }

    /// True if all that was read is the current state, at one moment.
    func holds(_ sights: [KeyName: KeySight]) -> Bool {
        let now = session.visible(Array(sights.keys))
        return sights.allSatisfy { key, sight in sight.holds(over: now[key] ?? .unset) }
    }
}
