public import SettingsModel
internal import Synchronization

/// Reading.
extension AdapterCore {
    /// The slot of a key path, and the key's own default where the slot is shared by several.
    func slot<Store: DefaultsKeyStore, Value>(_ path: KeyPath<Store, DefaultsKey<Value>>) -> Slot<Value> {
        if let slot = slots.slot(for: path) { return slot }
        return slots.addSlot(for: path, key: Store()[keyPath: path])
    }

    /// The value for a plain getter.
    @inlinable
    func value<Store: DefaultsKeyStore, Value>(_ path: KeyPath<Store, DefaultsKey<Value>>) -> Value {
        if let value = slots.cachedValue(for: path) { return value }
        return missedValue(path)
    }

    /// The value where none is kept, or one that does not hold any more.
    @usableFromInline
    func missedValue<Store: DefaultsKeyStore, Value>(_ path: KeyPath<Store, DefaultsKey<Value>>) -> Value {
        let slot = slot(path)
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
        let slot = slots.slot(for: key)
        let reading = slot.cachedReading ?? look(slot)
        return reading.isDefault ? key.defaultValue : reading.value
    }

    /// Reads what is not cached; what cannot be read is reported, and read as the default.
    func look<Value>(_ slot: Slot<Value>) -> Reading<Value> {
        do {
            return try read(slot)
        } catch {
            reportUnread(error, slot.key.name)
            var reading = Reading(value: slot.argument ?? slot.key.defaultValue, isDefault: slot.argument == nil)
            reading.problem = error
            reading.isStoredUnreadable = true
            return reading
        }
    }

    /// Reads for the forms that can throw, too: an error is that the suite is not there, not that a value is none.
    private func read<Value>(_ slot: Slot<Value>) throws(DefaultsError) -> Reading<Value> {
        guard let cell = slot.cell, case .success = slot.codec else {
            // It was reported when the slot was made.
            return Reading(value: slot.key.defaultValue, isDefault: true)
        }
        try load(for: cell.name)
        _ = differences(of: slot)
        takeOver(for: slot)
        let version = cell.version
        let (reading, isLasting) = reading(of: slot, cell)
        if isLasting { slot.keep(reading, version: version) }
        if let problem = reading.problem { report(problem, slot.key.name, .read) }
        return reading
    }

    /// The layers: the command line, what is stored, what is registered, the schema's default, the key's own.
    func resolve<Value>(_ slot: Slot<Value>, _ seen: VisibleSetting) -> Reading<Value> {
        guard let cell = slot.cell else { return Reading(value: slot.key.defaultValue, isDefault: true) }
        let registered = registered.withLock { $0[cell.name] }
        return resolve(slot, registered == nil ? seen : withSource(seen, cell.name), over: registered)
    }

    /// The same over what is registered, where that is known, too.
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

    /// What is seen of a key, with its source: that is asked for where it was not told.
    func withSource(_ visible: VisibleSetting, _ key: KeyName, isReported: Bool = true) -> VisibleSetting {
        guard visible.source == nil else { return visible }
        do {
            let setting = try backend.setting(key)
            replica.change { $0.learn(setting, fromRefusal: false) }
            return VisibleSetting(value: setting.value, source: setting.source, revision: setting.revision)
        } catch {
            if isReported { report(DefaultsError(error), key.text, .read) }
            return visible
        }
    }

    /// Whether somebody stored something under a key.
    func isStored(_ key: KeyName, isReported: Bool = true) throws(DefaultsError) -> Bool {
        try load(for: key)
        let source = withSource(replica.visible(key), key, isReported: isReported).source
        // Where even asking did not help, a value is there.
        return source?.isStored ?? true
    }

    /// Whether any layer but the defaults has a value for a key.
    func hasKey<Value>(_ slot: Slot<Value>) -> Bool {
        guard let cell = slot.cell else { return false }
        settleRename(of: slot)
        return slot.argument != nil || registered.withLock { $0[cell.name] } != nil || isSet(cell.name)
    }

    /// Whether somebody stored something; no, if that cannot be found out.
    func isSet(_ key: KeyName) -> Bool {
        do {
            return try isStored(key)
        } catch {
            reportUnread(error, key.text)
            return false
        }
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
        replica.change { [values] state in
            registered.withLock { $0.merge(values) { $1 } }
            state.register(values)
        }
    }
}
