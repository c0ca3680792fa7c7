internal import SettingsAPI
internal import SettingsModel

/// What the async forms do. Several are under way at the same time; what is about the same key is done in the order in
/// which it was asked for.
extension AdapterCore {
    /// Reads a key: at once, if what is there is known, and nothing is about to be written to it.
    nonisolated(nonsending) func reading<Value>(_ slot: Slot<Value>) async throws(DefaultsError) -> Reading<Value> {
        if let cell = slot.cell, !work.isBusy(with: cell.name), let reading = readingAtOnce(slot) {
            return try checked(reading, of: slot)
        }
        let moment = ContinuousClock.now
        return try await offload(about: slot.names) { [self] () throws(DefaultsError) in
            _ = try slot.codec.get()
            guard let cell = slot.cell else { return Reading(value: slot.key.defaultValue, isDefault: true) }
            try load(for: cell.name, unlessFailedSince: moment)
            try refuseAnotherType(slot)
            takeOver(for: slot)
            return try checked(reading(of: slot, sight(of: slot, cell, asks: .always)), of: slot)
        }
    }

    /// Throws if what is stored is no value of the key.
    private func checked<Value>(
        _ reading: Reading<Value>, of slot: Slot<Value>
    ) throws(DefaultsError) -> Reading<Value> {
        if reading.isStoredUnreadable, slot.argument == nil, let problem = reading.problem { throw problem }
        return reading
    }

    nonisolated(nonsending) func store<Value>(_ value: Value, in slot: Slot<Value>) async throws(DefaultsError) {
        try await offload(about: slot.names) { [self] () throws(DefaultsError) in try set(slot, to: value) }
    }

    /// Whether nothing seems to be stored for a key.
    nonisolated(nonsending) func isAbsent<Value>(_ slot: Slot<Value>) async throws(DefaultsError) -> Bool {
        let moment = ContinuousClock.now
        return try await offload(about: slot.names) { [self] () throws(DefaultsError) in
            _ = try slot.codec.get()
            guard let cell = slot.cell else { return false }
            settleRename(of: slot)
            return try !isStored(cell.name, since: moment)
        }
    }

    nonisolated(nonsending) func storeIfAbsent<Value>(
        _ value: Value, in slot: Slot<Value>
    ) async throws(DefaultsError) -> Bool {
        try await offload(about: slot.names) { [self] () throws(DefaultsError) in
            guard let cell = slot.cell else { return false }
            return try setIfAbsent(slot.encode(value), to: cell)
        }
    }

    /// Has there what hardly any transaction can do without.
    nonisolated(nonsending) func prepareTransaction() async throws(DefaultsError) {
        let moment = ContinuousClock.now
        try await offload { [self] () throws(DefaultsError) in
            try load(unlessFailedSince: moment)
            prepareSchema()
        }
    }

    /// Sends a transaction; false if it has to be made anew, as what it read has changed.
    ///
    /// - Parameter holds: whether what it read is so now. The server decides that of one that writes something.
    nonisolated(nonsending) func isDone(
        _ transaction: Transaction, holds: Bool, isLast: Bool
    ) async throws(DefaultsError) -> Bool {
        if transaction.operations.isEmpty {
            if isLast, !holds {
                throw .refused(Problem(.preconditionFailed, "what is read of suite \(suite) is changed all the time"))
            }
            return holds
        }
        return try await offload(about: Set(transaction.operations.map(\.key))) {
            [self] () throws(DefaultsError) in try commitUnlessChanged(transaction, isLast: isLast)
        }
    }

    private func commitUnlessChanged(_ transaction: Transaction, isLast: Bool) throws(DefaultsError) -> Bool {
        do {
            try session.commit(transaction.operations, if: transaction.conditions)
            return true
        } catch {
            guard !isLast, case .refused(let problem) = error, problem.code == .preconditionFailed,
                !problem.failed.isEmpty
            else { throw DefaultsError(error) }
            session.learn(problem)
            return false
        }
    }
}

extension Slot {
    /// The name that what is done to the key is about.
    fileprivate var names: Set<KeyName> {
        cell.map { [$0.name] } ?? []
    }
}
