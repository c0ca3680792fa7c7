internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// What a key is read from, as it was at one time.
struct KeySight: Sendable {
    /// Whether somebody may be asked for what was not told, which blocks.
    enum Asking {
        case never
        case unlessNobodyAnswered
        case always
    }

    /// What is seen of the key itself.
    var visible: VisibleSetting
    /// What the value is read from: the same, or what is stored under a former name.
    var origin: VisibleSetting
    /// What is registered under it.
    let registered: JSONValue?
    /// Whether it holds until the key changes.
    var isLasting = true

    /// Whether nobody told which layer is the upper one: what is stored lies over what is registered, a default of the
    /// schema under it.
    var isUnsure: Bool { registered != nil && origin.source == nil }

    /// Takes in what was answered to the question for the source.
    mutating func take(_ told: VisibleSetting) {
        visible = told
        origin = told
        isLasting = told.source != nil
    }

    /// What must still hold when something is done that was made of it. Not its revision: a transaction may wait until
    /// the daemon is another one, where that number means another value.
    var tests: [Transaction.Condition.Test] {
        // What is registered lies between a stored value and an equal default.
        let source = visible.source.map { [Transaction.Condition.Test.stored($0.isStored)] } ?? []
        guard let value = visible.value else { return source.isEmpty ? [.stored(false)] : source }
        return source + [.value(value)]
    }

    /// Whether it is what is seen now, as far as that was told.
    func holds(over now: VisibleSetting) -> Bool {
        visible.value == now.value && (visible.source == now.source || visible.source == nil || now.source == nil)
    }
}

extension AdapterCore {
    /// What a key is read from. Until its value is taken over, a renamed key is read from its former name.
    func sight<Value>(of slot: Slot<Value>, _ cell: KeyCell, asks: KeySight.Asking) -> KeySight {
        let seen = session.visible(cell.name)
        let registered = registered.withLock { $0[cell.name] }
        if let rename = slot.rename, !rename.isSettled, !seemsStored(seen, slot),
            let former = rename.migration.formerNames.first(where: maybeStored)
        {
            let old = VisibleSetting(value: session.visible(former).value, source: .stored, revision: nil)
            return KeySight(visible: seen, origin: old, registered: registered, isLasting: false)
        }
        var sight = KeySight(visible: seen, origin: seen, registered: registered)
        if sight.isUnsure {
            // What was not told now may be told at any time, without a change of the key.
            sight.isLasting = false
            if asks != .never { sight.take(withSource(seen, cell.name, insists: asks == .always)) }
        }
        return sight
    }

    /// What is read of a key, if that is known without asking anybody; nil if somebody has to be asked first.
    func readingAtOnce<Value>(_ slot: Slot<Value>) -> Reading<Value>? {
        guard let cell = slot.cell, case .success = slot.codec, !(slot.rename?.isOpen ?? false),
            let differences = knownDifferences(of: slot), differences.isEmpty
        else { return nil }
        if let reading = slot.cachedReading { return reading }
        guard isLoaded else { return nil }
        let sight = sight(of: slot, cell, asks: .never)
        return sight.isUnsure ? nil : reading(of: slot, sight)
    }

    /// Whether all that was read is so now, at one time.
    func holds(_ sights: [KeyName: KeySight]) -> Bool {
        let now = session.visible(Array(sights.keys))
        return sights.allSatisfy { key, sight in sight.holds(over: now[key] ?? .unset) }
    }
}
