internal import SettingsAPI
public import SettingsModel
internal import Synchronization

/// Reading.
extension AdapterCore {
    /// The slot of a key path. Its default is that of the key, too.
    func slot<Store, Value>(_ path: KeyPath<Store, DefaultsKey<Value>>, in place: StorePlace<Store>) -> Slot<Value> {
        if let slot = slots.slot(for: path, in: place.number) { return slot }
        return slots.addSlot(for: path, in: place.number) { place.store[keyPath: path] }
    }

    /// The place of a store within another, by the path from there. The core keeps it.
    @inlinable
    func place<Store, Inner: DefaultsKeyStore>(
        _ path: KeyPath<Store, Inner>, in parent: Unmanaged<StorePlace<Store>>
    ) -> Unmanaged<StorePlace<Inner>> {
        // A store that holds nothing is known by its type. Which ones hold nothing is known where the program is compiled,
        // which there does without the path: that is counted.
        if MemoryLayout<Inner>.size == 0 { return slots.knownPlace(of: Inner.self) ?? missedPlace(in: parent) }
        let known = parent._withUnsafeGuaranteedRef { slots.knownPlace(for: path, in: $0.number) }
        return known ?? missedPlace(path, in: parent)
    }

    /// The place of a store that was not asked for by this path object.
    @usableFromInline
    func missedPlace<Store, Inner: DefaultsKeyStore>(
        _ path: KeyPath<Store, Inner>, in parent: Unmanaged<StorePlace<Store>>
    ) -> Unmanaged<StorePlace<Inner>> {
        refuseWithoutPrefix(Inner.self, in: Store.self)
        return slots.addPlace(for: path, in: parent.takeUnretainedValue())
    }

    /// The place of a store that holds nothing and was not asked for.
    @usableFromInline
    func missedPlace<Store, Inner: DefaultsKeyStore>(
        in parent: Unmanaged<StorePlace<Store>>
    ) -> Unmanaged<StorePlace<Inner>> {
        refuseWithoutPrefix(Inner.self, in: Store.self)
        return slots.addPlace(of: Inner())
    }

    private func refuseWithoutPrefix<Store, Inner: DefaultsKeyStore>(_ inner: Inner.Type, in outer: Store.Type) {
        guard let outer = outer as? any DefaultsKeyStore.Type, let problem = nestedStoreProblem(inner, in: outer) else {
            return
        }
        assertionFailure(problem)
    }

    /// The value of a key path, if it is known and nothing changed since it was decoded.
    @inlinable
    func cachedValue<Store, Value>(_ path: KeyPath<Store, DefaultsKey<Value>>, inPlace place: UInt) -> Value? {
        slots.cachedValue(for: path, in: place)
    }

    /// The value where none is kept, or one that does not hold any more.
    @usableFromInline
    func missedValue<Store, Value>(
        _ path: KeyPath<Store, DefaultsKey<Value>>, in place: Unmanaged<StorePlace<Store>>
    ) -> Value {
        let slot = slot(path, in: place.takeUnretainedValue())
        return (slot.cachedReading ?? look(slot)).value
    }

    /// The value for a plain getter by key; the default is that of the key given.
    @inlinable
    func value<Value>(_ key: DefaultsKey<Value>) -> Value {
        if let value = slots.cachedValue(for: key) { return value }
        return missedValue(key)
    }

    /// The value where none is kept, or one that does not hold any more.
    @usableFromInline
    func missedValue<Value>(_ key: DefaultsKey<Value>) -> Value {
        if let slot = slots.keptSlot(for: key) { return value(of: slot, orDefault: key.defaultValue) }
        guard let name = try? KeyName(key.name) else { return look(slots.makeSlot(for: key)).value }
        // Nothing stays of a key that is not kept.
        return session.withCell(for: name) { _ in value(of: slots.makeSlot(for: key), orDefault: key.defaultValue) }
    }

    private func value<Value>(of slot: Slot<Value>, orDefault defaultValue: Value) -> Value {
        let reading = slot.cachedReading ?? look(slot)
        return reading.isDefault ? defaultValue : reading.value
    }

    /// Reads what is not cached; what cannot be read is reported, and read as the default.
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

    /// Reads what is to be kept: an error is that the suite is not there, not that a value is none.
    private func read<Value>(_ slot: Slot<Value>) throws(DefaultsError) -> Reading<Value> {
        guard let cell = slot.cell, case .success = slot.codec else {
            // It was reported when the slot was made.
            return Reading(value: slot.key.defaultValue, isDefault: true)
        }
        try load(for: cell.name)
        _ = differences(of: slot)
        takeOver(for: slot)
        let version = cell.version
        let sight = sight(of: slot, cell, asks: .unlessNobodyAnswered)
        let reading = reading(of: slot, sight)
        if sight.isLasting { slot.keep(reading, version: version) }
        if let problem = reading.problem { report(problem, slot.key.name, .read) }
        return reading
    }

    /// The value of a sight: the command line, what is stored, what is registered, the schema's default, the key's own.
    func reading<Value>(of slot: Slot<Value>, _ sight: KeySight) -> Reading<Value> {
        var reading = resolve(slot, sight.origin, over: sight.registered)
        reading.base = sight.visible.value
        return reading
    }

    /// The layers: the command line, what is stored, what is registered, the schema's default, the key's own.
    func resolve<Value>(_ slot: Slot<Value>, _ visible: VisibleSetting, over registered: JSONValue?) -> Reading<Value> {
        guard let cell = slot.cell, case .success(let codec) = slot.codec else {
            return Reading(value: slot.key.defaultValue, isDefault: true)
        }
        var reading = Reading(value: slot.key.defaultValue, isDefault: true, base: visible.value)
        if visible.source == .invalid {
            reading.problem = .refused(
                Problem(.invalidStored, "what is stored for \(cell.name) of suite \(suite) does not fit the schema"))
            reading.isStoredUnreadable = true
        }
        let isStored = visible.value != nil && visible.source != .default
        let layers =
            isStored ? [(visible.value, true), (registered, false)] : [(registered, false), (visible.value, true)]
        for (layer, isOfServer) in layers {
            guard let layer else { continue }
            do {
                reading.value = try codec.decode(layer)
                reading.isDefault = false
                break
            } catch {
                reading.problem = reading.problem ?? .invalid(error)
                if isOfServer { reading.isStoredUnreadable = true }
            }
        }
        if let argument = slot.argument {
            reading.value = argument
            reading.isDefault = false
        }
        return reading
    }

    /// What is seen of a key, with its source: that is asked for where it was not told, unless nobody answered just before.
    ///
    /// - Parameter insists: whether to ask all the same.
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

    /// Whether somebody stored something under a key.
    ///
    /// - Parameter moment: since when whoever asks waits, if they insist that the suite is loaded.
    func isStored(
        _ key: KeyName, since moment: ContinuousClock.Instant? = nil, isReported: Bool = true
    ) throws(DefaultsError) -> Bool {
        try load(for: key, unlessFailedSince: moment)
        let source = withSource(session.visible(key), key, insists: true, isReported: isReported).source
        // Where even asking did not help, a value is there.
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

    /// Whether any layer but the defaults has a value for a key.
    func hasKey<Value>(_ slot: Slot<Value>) -> Bool {
        guard let cell = slot.cell else { return false }
        return WaitingTime.sharing {
            settleRename(of: slot)
            return slot.argument != nil || isRegistered(cell.name) || isSet(cell.name)
        }
    }

    /// Whether somebody stored something for a key; no, if that cannot be found out.
    func isSet<Value>(_ slot: Slot<Value>) -> Bool {
        guard let cell = slot.cell else { return false }
        return WaitingTime.sharing {
            settleRename(of: slot)
            return isSet(cell.name)
        }
    }

    /// Whether somebody stored something; no, if that cannot be found out.
    func isSet(_ key: KeyName) -> Bool {
        do {
            return try WaitingTime.sharing { () throws(DefaultsError) in try isStored(key) }
        } catch {
            reportUnread(error, key.text)
            return false
        }
    }

    func isRegistered(_ key: KeyName) -> Bool {
        registered.withLock { $0[key] } != nil
    }

    /// Puts values under what is stored.
    func register(_ defaults: [String: JSONValue]) {
        var values: [KeyName: JSONValue] = [:]
        for (name, value) in defaults {
            do {
                values[try KeyName(name)] = value
            } catch {
                report(.unusableName(error), name, .write)
            }
        }
        // Both at once, so that whoever begins to observe finds it or is told of it.
        session.change { [values] state in
            registered.withLock { $0.merge(values) { $1 } }
            state.register(values)
        }
    }
}
