internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// Reading: from what is known here, and from the server where that is not enough.
extension AdapterCore {
    /// The value of a key for a plain getter. The default is that of the key given.
    func value<Value>(_ key: DefaultsKey<Value>) -> Value {
        if let rules = key.rules, let entry = slots.currentEntry(SlotTable.Identity(rules)) {
            if entry.isDefault { return key.defaultValue }
            if case let value as Value = entry.value { return value }
        }
        return readSlot(key)
    }

    // Apart from the fast path, whose generic code would look up the metadata of what is used here.
    @inline(never)
    private func readSlot<Value>(_ key: DefaultsKey<Value>) -> Value {
        if let slot = slots.keptSlot(for: key) {
            let value = value(of: slot, orDefault: key.defaultValue)
            if let rules = key.rules { slots.refresh(SlotTable.Identity(rules), from: slot) }
            return value
        }
        guard let name = try? KeyName(key.name) else { return look(slots.makeSlot(for: key)).value }
        // The table does not keep this key, so the replica does not keep its cell.
        return session.withCell(for: name) { _ in value(of: slots.makeSlot(for: key), orDefault: key.defaultValue) }
    }

    private func value<Value>(of slot: Slot<Value>, orDefault defaultValue: Value) -> Value {
        let reading = slot.cachedReading ?? look(slot)
        return reading.isDefault ? defaultValue : reading.value
    }

    /// Reads a key that is not cached. An error is reported, and the default is read.
    func look<Value>(_ slot: Slot<Value>) -> Reading<Value> {
        do {
            return try WaitingTime.sharing { () throws(DefaultsError) in try read(slot) }
        } catch {
            reportUnread(error, slot.key.name)
            var reading = Reading(value: slot.argument ?? slot.key.defaultValue, isDefault: slot.argument == nil)
            reading.problem = error
            reading.isStoredUnreadable = true
            return reading
        }
    }

    /// Reads for an async form: tries to load the suite even if that failed before the caller began to wait.
    func readInsisting<Value>(
        _ slot: Slot<Value>, since moment: ContinuousClock.Instant
    ) throws(DefaultsError) -> Reading<Value> {
        _ = try slot.codec.get()
        guard let cell = slot.cell else { return Reading(value: slot.key.defaultValue, isDefault: true) }
        try load(for: cell.name, unlessFailedSince: moment)
        try refuseAnotherType(differences(of: slot))
        takeOver(for: slot)
        return reading(of: slot, sight(of: slot, cell, asks: .always))
    }

    /// Reads a key and caches that. Throws if the suite is not loaded, not if a stored value is none of the key.
    private func read<Value>(_ slot: Slot<Value>) throws(DefaultsError) -> Reading<Value> {
        guard let cell = slot.cell, case .success = slot.codec else {
            // It was reported when the slot was made.
            return Reading(value: slot.key.defaultValue, isDefault: true)
        }
        try load(for: cell.name)
        _ = differences(of: slot)
        takeOver(for: slot)
        let version = cell.version
        let sight = sight(of: slot, cell, asks: .unlessPaused)
        let reading = reading(of: slot, sight)
        if sight.isLasting { slot.keep(reading, version: version) }
        if let problem = reading.problem { report(problem, slot.key.name, .read) }
        return reading
    }

    func reading<Value>(of slot: Slot<Value>, _ sight: KeySight) -> Reading<Value> {
        var reading = resolve(slot, sight.origin, over: sight.registered)
        reading.base = sight.visible.value
        return reading
    }

    /// A setting with its source, which the server is asked for where it is not known, unless it did not answer just
    /// before.
    ///
    /// - Parameter insists: true to ask in any case.
    func withSource(
        _ visible: VisibleSetting, _ key: KeyName, insists: Bool = false, isReported: Bool = true
    ) -> VisibleSetting {
        guard visible.source == nil, insists || !session.isPaused else { return visible }
        do {
            let setting = try session.ask(for: key, isNewest: false)
            return VisibleSetting(value: setting.value, source: setting.source, revision: setting.revision)
        } catch {
            if isReported { report(DefaultsError(error), key.text, .read) }
            return visible
        }
    }

    /// True if a value is stored under a key.
    ///
    /// - Parameter moment: the time when an insisting caller began to wait: the suite is loaded unless that failed since.
    func isStored(
        _ key: KeyName, since moment: ContinuousClock.Instant? = nil, isReported: Bool = true
    ) throws(DefaultsError) -> Bool {
        try load(for: key, unlessFailedSince: moment)
        let source = withSource(session.visible(key), key, insists: true, isReported: isReported).source
        // Without an answer, the value that is there counts as stored.
        return source?.isStored ?? true
    }

    /// True if nothing is stored under a key as far as is known: while the server is away the write itself, which is made
    /// only if nothing is stored, decides.
    func isAbsent(_ key: KeyName) throws(DefaultsError) -> Bool {
        do {
            return try !isStored(key)
        } catch {
            guard case .unreachable = error else { throw error }
            return true
        }
    }

    /// True if any layer but the defaults has a value for a key.
    func hasKey<Value>(_ slot: Slot<Value>) -> Bool {
        guard let cell = slot.cell else { return false }
        return WaitingTime.sharing {
            settleRename(of: slot)
            return slot.argument != nil || registered(cell.name) != nil || isSet(cell.name)
        }
    }

    /// True if a value is stored for a key; false if that cannot be found out.
    func isSet<Value>(_ slot: Slot<Value>) -> Bool {
        guard let cell = slot.cell else { return false }
        return WaitingTime.sharing {
            settleRename(of: slot)
            return isSet(cell.name)
        }
    }

    /// True if a value is stored; false if that cannot be found out.
    func isSet(_ key: KeyName) -> Bool {
        do {
            return try WaitingTime.sharing { () throws(DefaultsError) in try isStored(key) }
        } catch {
            reportUnread(error, key.text)
            return false
        }
    }
}

/// The state that a key is read from, at one time.
struct KeySight: Sendable {
    /// When the server may be asked for a source that is not known, which blocks.
    enum Asking {
        case never
        case unlessPaused
        case always
    }

    /// The state of the key itself.
    var visible: VisibleSetting
    /// The state that the value is read from: the same, or that of a former name.
    var origin: VisibleSetting
    /// The registered default.
    let registered: JSONValue?
    /// True if it holds until the key changes.
    var isLasting = true

    /// True if it is not known which layer is the upper one: a stored value lies over the registered default, a default of
    /// the schema under it.
    var isUnsure: Bool { registered != nil && origin.source == nil }

    /// Takes in the answer to the question for the source.
    mutating func take(_ answer: VisibleSetting) {
        visible = answer
        origin = answer
        isLasting = answer.source != nil
    }

    /// The conditions of a write that was computed from it. Not its revision: a transaction may wait until the daemon is
    /// another one, where that number means another value.
    var tests: [Transaction.Condition.Test] {
        // The registered default lies between a stored value and an equal default of the schema.
        let source = visible.source.map { [Transaction.Condition.Test.stored($0.isStored)] } ?? []
        guard let value = visible.value else { return source.isEmpty ? [.stored(false)] : source }
        return source + [.value(value)]
    }

    /// True if the state is still the same, as far as that is known.
    func holds(over now: VisibleSetting) -> Bool {
        visible.value == now.value && (visible.source == now.source || visible.source == nil || now.source == nil)
    }
}

extension AdapterCore {
    /// The state that a key is read from. Until its value is taken over, a renamed key is read from its former name.
    func sight<Value>(of slot: Slot<Value>, _ cell: KeyCell, asks: KeySight.Asking) -> KeySight {
        let seen = session.visible(cell.name)
        let registered = registered(cell.name)
        if let rename = slot.rename, !rename.isSettled, !seemsStored(seen, slot),
            let former = rename.migration.formerNames.first(where: maybeStored)
        {
            let old = VisibleSetting(value: session.visible(former).value, source: .stored, revision: nil)
            return KeySight(visible: seen, origin: old, registered: registered, isLasting: false)
        }
        var sight = KeySight(visible: seen, origin: seen, registered: registered)
        if sight.isUnsure {
            // The source may become known at any time, without a change of the key.
            sight.isLasting = false
            if asks != .never { sight.take(withSource(seen, cell.name, insists: asks == .always)) }
        }
        return sight
    }

    /// Reads a key if that needs no question to the server; else nil.
    func readingAtOnce<Value>(_ slot: Slot<Value>) -> Reading<Value>? {
        guard let cell = slot.cell, case .success = slot.codec, !(slot.rename?.isOpen ?? false),
            let differences = knownDifferences(of: slot), differences.isEmpty
        else { return nil }
        if let reading = slot.cachedReading { return reading }
        guard isLoaded else { return nil }
        let sight = sight(of: slot, cell, asks: .never)
        return sight.isUnsure ? nil : reading(of: slot, sight)
    }

    /// True if all that was read is so now, at one time.
    func holds(_ sights: [KeyName: KeySight]) -> Bool {
        let now = session.visible(Array(sights.keys))
        return sights.allSatisfy { key, sight in sight.holds(over: now[key] ?? .unset) }
    }
}
