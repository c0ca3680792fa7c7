public import SettingsModel

/// A key of an adapter: the operand of `?=` and `++`, and what all keyed forms go through.
public struct DefaultsReference<Value: DefaultsSerializable>: Sendable {
    let core: AdapterCore
    let slot: Slot<Value>
    /// The default of the key that the program gave: keys that share the slot may have others.
    let defaultValue: Value

    init(core: AdapterCore, slot: Slot<Value>, default defaultValue: Value? = nil) {
        self.core = core
        self.slot = slot
        self.defaultValue = defaultValue ?? slot.key.defaultValue
    }

    /// Stores a value as a setter does: what fails is reported.
    func assign(_ value: Value) {
        core.attempt(slot.key.name) { () throws(DefaultsError) in try core.set(slot, to: value) }
    }

    /// Begins a change in place. Nothing is locked until ``InPlaceChange/finish()``.
    func begin() -> InPlaceChange<Value> {
        core.begin(slot, default: defaultValue)
    }

    /// True if the right side of `?=` is to be evaluated. What cannot be found out is reported.
    fileprivate func seemsAbsent() -> Bool {
        do {
            _ = try slot.codec.get()
            guard let cell = slot.cell else { return false }
            core.settleRename(of: slot)
            return try core.isAbsent(cell.name)
        } catch {
            core.report(error, slot.key.name, .write)
            return false
        }
    }
}

/// For tasks: the blocking forms, done on a queue in the order in which they were asked for.
extension DefaultsReference {
    /// Reads at once if the value is known and nothing is about to be written to the key.
    nonisolated(nonsending) func value() async throws(DefaultsError) -> Value {
        let reading: Reading<Value>
        if let cell = slot.cell, !core.work.isBusy(with: cell.name), let known = core.readingAtOnce(slot) {
            reading = try checked(known)
        } else {
            let moment = ContinuousClock.now
            reading = try await offload { () throws(DefaultsError) in
                try checked(core.readInsisting(slot, since: moment))
            }
        }
        return reading.isDefault ? defaultValue : reading.value
    }

    /// Throws if what is stored is no value of the key.
    private func checked(_ reading: Reading<Value>) throws(DefaultsError) -> Reading<Value> {
        if reading.isStoredUnreadable, slot.argument == nil, let problem = reading.problem { throw problem }
        return reading
    }

    nonisolated(nonsending) func set(_ value: Value) async throws(DefaultsError) {
        try await offload { () throws(DefaultsError) in try core.set(slot, to: value) }
    }

    nonisolated(nonsending) func setIfAbsent(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Bool {
        let moment = ContinuousClock.now
        let isAbsent = try await offload { () throws(DefaultsError) in
            _ = try slot.codec.get()
            guard let cell = slot.cell else { return false }
            core.settleRename(of: slot)
            return try !core.isStored(cell.name, since: moment)
        }
        guard isAbsent else { return false }
        let value = try await body()
        return try await offload { () throws(DefaultsError) in
            guard let cell = slot.cell else { return false }
            return try core.setIfAbsent(slot.encode(value), to: cell)
        }
    }

    private nonisolated(nonsending) func offload<Result: Sendable>(
        _ body: @escaping @Sendable () throws(DefaultsError) -> Result
    ) async throws(DefaultsError) -> Result {
        try await core.work.run(about: slot.names, body)
    }
}

infix operator ?= : AssignmentPrecedence
postfix operator ++

/// Stores a value if nothing is stored, which the server decides. The right side is not evaluated if something is.
public func ?= <Value>(reference: DefaultsReference<Value>, value: @autoclosure () throws -> Value) rethrows {
    let (isWanted, spent) = WaitingTime.measuring { reference.seemsAbsent() }
    guard isWanted else { return }
    let value = try value()
    reference.core.attempt(reference.slot.key.name) { () throws(DefaultsError) in
        guard let cell = reference.slot.cell else { return }
        let json = try reference.slot.encode(value)
        _ = try WaitingTime.sharing(spent: spent) { () throws(DefaultsError) in
            try reference.core.setIfAbsent(json, to: cell)
        }
    }
}

/// Adds one.
public postfix func ++ <Value>(reference: DefaultsReference<Value>)
where Value: AdditiveArithmetic & ExpressibleByIntegerLiteral {
    var change = reference.begin()
    change.value += 1
    change.finish()
}
