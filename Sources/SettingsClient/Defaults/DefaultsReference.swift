package import SettingsKeys

/// A key with its adapter. Its methods read, write and observe the value of the key.
package struct DefaultsReference<Value: DefaultsSerializable>: Sendable {
    let core: AdapterCore
    /// The key with its state in the adapter, such as the last value. All keys with the same name, type and rules share
    /// this object.
    let resolved: ResolvedKey<Value>
    /// The default of this key. Keys that share the resolved key may have different defaults.
    let defaultValue: Value

    var name: String { resolved.key.name }

    func report(_ error: DefaultsError, _ attempt: DefaultsIssue.Attempt) {
        core.report(error, name, attempt)
    }

    /// Stores a value if nothing is stored. The daemon checks the condition. Like a setter, the method reports an error
    /// of the write as an issue instead of throwing the error.
    ///
    /// - Parameter value: returns the value. It is called only if the client knows of no stored value.
    package func setIfAbsent(_ value: () throws -> Value) rethrows {
        let start = ContinuousClock.now
        guard seemsAbsent() else { return }
        assignIfAbsent(try value(), since: start)
    }

    /// Changes the value in place. Like a setter, the method reports an error as an issue.
    package func changeInPlace(_ body: (inout Value) -> Void) {
        var change = beginChange()
        defer { change.end() }
        body(&change.value)
        change.write()
    }

    /// Returns true if the client knows of no stored value. Returns false and reports an error if the key is not valid
    /// or the suite cannot be read.
    private func seemsAbsent() -> Bool {
        do {
            _ = try resolved.codec.get()
            let deadline = core.session.deadline
            // A value under a former name of the key moves to the present name, and so counts as stored.
            loadAndMoveValue(until: deadline)
            guard let key = resolved.name else { return false }
            return try core.isAbsent(key, until: deadline, seemsStored: seemsStored)
        } catch {
            report(error, .write)
            return false
        }
    }

    /// Reads the value for an async method. Throws if the key is unusable, if a necessary request fails, or if the
    /// value in the replica is not a valid value of the key and the command line has no value (`argument`).
    nonisolated(nonsending) func readValue() async throws(DefaultsError) -> Value {
        _ = try resolved.codec.get()
        let reading = try await readOrThrow()
        if reading.isReplicaValueUnreadable, resolved.argument == nil, let problem = reading.problem { throw problem }
        return reading.value ?? defaultValue
    }
}
