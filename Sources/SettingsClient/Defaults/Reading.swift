internal import SettingsAPI
internal import SettingsModel

/// Reading: from what is known here, and from the server where that is not enough.
extension DefaultsReference {
    /// The value for a plain getter. What fails is reported.
    var value: Value {
        (slot.cachedReading ?? look()).value ?? defaultValue
    }

    /// Reads a key that is not cached. An error is reported, and the default is read.
    func look() -> Reading<Value> {
        do {
            return try WaitingTime.sharing { () throws(DefaultsError) in try read() }
        } catch {
            core.reportUnread(error, name)
            return Reading(value: slot.argument, problem: error, isStoredUnreadable: true)
        }
    }

    /// Reads a key and caches that. Throws if the suite is not loaded, not if a stored value is none of the key.
    ///
    /// - Parameter moment: the time when the caller of an async form began to wait: it insists on an answer, and gets
    ///   an error if no value of the key fits the schema.
    func read(since moment: ContinuousClock.Instant? = nil) throws(DefaultsError) -> Reading<Value> {
        // An unusable key was reported when its slot was made.
        guard let cell = slot.cell, case .success = slot.codec else { return Reading() }
        try core.load(for: cell.name, unlessFailedSince: moment)
        let differences = differences()
        if moment != nil { try core.refuseAnotherType(differences) }
        takeOver()
        let version = cell.version
        let sight = sight(cell.name, asks: moment == nil ? .unlessPaused : .always)
        let reading = reading(of: sight)
        if sight.isLasting, moment == nil || reading.problem == nil { slot.keep(reading, version: version) }
        if let problem = reading.problem, moment == nil { report(problem, .read) }
        return reading
    }

    /// Reads a key if that needs no question to the server; else nil.
    func readingAtOnce() -> Reading<Value>? {
        guard let key = slot.name, case .success = slot.codec, !(slot.rename?.isOpen ?? false),
            knownDifferences()?.isEmpty ?? false
        else { return nil }
        if let reading = slot.cachedReading { return reading }
        guard core.session.isLoaded else { return nil }
        let sight = sight(key, asks: .never)
        return sight.isUnsure ? nil : reading(of: sight)
    }

    func reading(of sight: KeySight) -> Reading<Value> {
        var reading = resolve(sight.origin, over: sight.registered)
        reading.base = sight.visible.value
        return reading
    }

    /// The state that a key is read from. Until its value is taken over, a renamed key is read from its former name.
    func sight(_ key: KeyName, asks: KeySight.Asking) -> KeySight {
        let seen = core.session.visible(key)
        let registered = core.registered(key)
        if let former = formerName(insteadOf: seen) {
            let old = VisibleSetting(value: core.session.visible(former).value, source: .stored, revision: nil)
            return KeySight(visible: seen, origin: old, registered: registered, isLasting: false)
        }
        var sight = KeySight(visible: seen, origin: seen, registered: registered)
        if sight.isUnsure {
            // The source may become known at any time, without a change of the key.
            sight.isLasting = false
            if asks != .never { sight.take(core.withSource(seen, key, insists: asks == .always)) }
        }
        return sight
    }

    /// True if any layer but the defaults has a value for a key.
    func hasKey() -> Bool {
        guard let key = slot.name else { return false }
        return WaitingTime.sharing {
            settleRename()
            return slot.argument != nil || core.registered(key) != nil || core.isSet(key)
        }
    }

    /// True if a value is stored for a key; false if that cannot be found out.
    func isSet() -> Bool {
        guard let key = slot.name else { return false }
        return WaitingTime.sharing {
            settleRename()
            return core.isSet(key)
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

    /// True if a value is stored; false if that cannot be found out.
    func isSet(_ key: KeyName) -> Bool {
        do {
            return try WaitingTime.sharing { () throws(DefaultsError) in try isStored(key) }
        } catch {
            reportUnread(error, key.text)
            return false
        }
    }

    /// True if all that was read is so now, at one time.
    func holds(_ sights: [KeyName: KeySight]) -> Bool {
        let now = session.visible(Array(sights.keys))
        return sights.allSatisfy { key, sight in sight.holds(over: now[key] ?? .unset) }
    }
}
