public import SettingsKeys

/// A key of an adapter: the operand of `?=` and `++`.
public struct DefaultsReference<Value: DefaultsSerializable>: Sendable {
    let core: AdapterCore
    let slot: Slot<Value>
    /// The default of the key that the program gave. Keys that share the slot may have other defaults.
    let defaultValue: Value

    var name: String { slot.key.name }

    func report(_ error: DefaultsError, _ attempt: DefaultsIssue.Attempt) {
        core.report(error, name, attempt)
    }

    /// True if the right side of `?=` is to be evaluated. An error is reported.
    fileprivate func seemsAbsent() -> Bool {
        do {
            _ = try slot.codec.get()
            loadForRename()
            return try slot.name.map { key throws(DefaultsError) in try core.isAbsent(key) } ?? false
        } catch {
            report(error, .write)
            return false
        }
    }

    /// Reads the value for an async form. Throws if the stored value is no value of the key.
    nonisolated(nonsending) func readValue() async throws(DefaultsError) -> Value {
        _ = try slot.codec.get()
        let reading = try await readInsisting()
        if reading.isStoredUnreadable, slot.argument == nil, let problem = reading.problem { throw problem }
        return reading.value ?? defaultValue
    }
}

infix operator ?= : AssignmentPrecedence
postfix operator ++

/// Stores a value if nothing is stored. The daemon decides. The right side is evaluated only if nothing seems to be stored.
public func ?= <Value>(reference: DefaultsReference<Value>, value: @autoclosure () throws -> Value) rethrows {
    let start = ContinuousClock.now
    guard reference.seemsAbsent() else { return }
    reference.assignIfAbsent(try value(), since: start)
}

/// Adds one.
public postfix func ++ <Value>(reference: DefaultsReference<Value>)
where Value: AdditiveArithmetic & ExpressibleByIntegerLiteral {
    var change = reference.begin()
    defer { change.end() }
    change.value += 1
    change.write()
}
