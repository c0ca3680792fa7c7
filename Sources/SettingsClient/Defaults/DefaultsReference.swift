public import SettingsKeys

/// A key of an adapter: the operand of `?=` and `++`, and what all keyed forms go through.
public struct DefaultsReference<Value: DefaultsSerializable>: Sendable {
    let core: AdapterCore
    let slot: Slot<Value>
    /// The default of the key that the program gave: keys that share the slot may have others.
    let defaultValue: Value

    var name: String { slot.key.name }

    func report(_ error: DefaultsError, _ attempt: DefaultsIssue.Attempt) {
        core.report(error, name, attempt)
    }

    /// Stores a value as a setter does: what fails is reported.
    func assign(_ value: Value) {
        core.attempt(name) { () throws(DefaultsError) in try set(to: value) }
    }

    /// True if the right side of `?=` is to be evaluated. What cannot be found out is reported.
    fileprivate func seemsAbsent() -> Bool {
        do {
            _ = try slot.codec.get()
            settleRename()
            return try slot.name.map { key throws(DefaultsError) in try core.isAbsent(key) } ?? false
        } catch {
            report(error, .write)
            return false
        }
    }
}

/// For tasks: the blocking forms, done on a queue in the order in which they were asked for.
extension DefaultsReference {
    /// Reads at once if the value is known and nothing is about to be written to the key.
    nonisolated(nonsending) func valueForTask() async throws(DefaultsError) -> Value {
        if let key = slot.name, !core.work.isBusy(with: key), let known = readingAtOnce() {
            return try value(of: known)
        }
        _ = try slot.codec.get()
        let moment = ContinuousClock.now
        return try await offload { () throws(DefaultsError) in try value(of: read(since: moment)) }
    }

    /// The value that was read. Throws if what is stored is no value of the key.
    private func value(of reading: Reading<Value>) throws(DefaultsError) -> Value {
        if reading.isStoredUnreadable, slot.argument == nil, let problem = reading.problem { throw problem }
        return reading.value ?? defaultValue
    }

    nonisolated(nonsending) func set(_ value: Value) async throws(DefaultsError) {
        try await offload { () throws(DefaultsError) in try set(to: value) }
    }

    nonisolated(nonsending) func setIfAbsent(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Bool {
        let moment = ContinuousClock.now
        let isAbsent = try await offload { () throws(DefaultsError) in
            _ = try slot.codec.get()
            guard let key = slot.name else { return false }
            settleRename()
            return try !core.isStored(key, since: moment)
        }
        guard isAbsent else { return false }
        let value = try await body()
        return try await offload { () throws(DefaultsError) in try setIfAbsent(to: value) }
    }

    nonisolated(nonsending) func offload<Result: Sendable>(
        _ body: @escaping @Sendable () throws(DefaultsError) -> Result
    ) async throws(DefaultsError) -> Result {
        try await core.work.run(about: slot.name.map { [$0] } ?? [], body)
    }
}

infix operator ?= : AssignmentPrecedence
postfix operator ++

/// Stores a value if nothing is stored, which the server decides. The right side is not evaluated if something is.
public func ?= <Value>(reference: DefaultsReference<Value>, value: @autoclosure () throws -> Value) rethrows {
    let (isWanted, spent) = WaitingTime.measuring { reference.seemsAbsent() }
    guard isWanted else { return }
    let value = try value()
    reference.core.attempt(reference.name) { () throws(DefaultsError) in
        _ = try WaitingTime.sharing(spent: spent) { () throws(DefaultsError) in try reference.setIfAbsent(to: value) }
    }
}

/// Adds one.
public postfix func ++ <Value>(reference: DefaultsReference<Value>)
where Value: AdditiveArithmetic & ExpressibleByIntegerLiteral {
    var change = reference.begin()
    change.value += 1
    change.finish()
}
