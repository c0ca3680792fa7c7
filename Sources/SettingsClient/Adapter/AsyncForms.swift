public import SettingsModel

// The forms for async code: they block no thread and throw what goes wrong. What returns has been acknowledged by the
// server: a write that is kept until the server is back throws `DefaultsError.kept`. A key path may not leave its
// isolation, so each is turned into its slot at once.

extension DefaultsAdapter {
    /// The value of a key. Throws if the suite could not be loaded, or if what is stored is no value of the key.
    public nonisolated(nonsending) func value<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>
    ) async throws(DefaultsError) -> Value {
        let slot = core.slot(path)
        return try await core.offload { [core] () throws(DefaultsError) in
            _ = try slot.codec.get()
            guard let cell = slot.cell else { return slot.key.defaultValue }
            try core.load(for: cell.name, insists: true)
            try core.refuseAnotherType(slot)
            core.takeOver(for: slot)
            let (reading, _) = core.reading(of: slot, cell)
            if reading.isStoredUnreadable, slot.argument == nil, let problem = reading.problem { throw problem }
            return reading.value
        }
    }

    /// Stores a value. Throws ``DefaultsError/kept(_:)`` if that is done only when the server is back.
    public nonisolated(nonsending) func set<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, _ value: Value
    ) async throws(DefaultsError) {
        let slot = core.slot(path)
        try await core.offload { [core] () throws(DefaultsError) in try core.set(slot, to: value) }
    }

    /// Changes a value, again if somebody else changes it meanwhile: the body may run several times.
    public nonisolated(nonsending) func update<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, _ body: (inout Value) throws -> Void
    ) async throws {
        try await transaction { try body(&$0[path]) }
    }

    /// Stores a value if nothing is stored, which the server decides; says whether it did. The body runs only if nothing
    /// seems to be stored.
    @discardableResult
    public nonisolated(nonsending) func setIfAbsent<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Bool {
        let slot = core.slot(path)
        let isStored = try await core.offload { [core] () throws(DefaultsError) in
            _ = try slot.codec.get()
            core.settleRename(of: slot)
            return try slot.cell.map { cell throws(DefaultsError) in try core.isStored(cell.name) } ?? true
        }
        guard !isStored else { return false }
        let value = try await body()
        return try await core.offload { [core] () throws(DefaultsError) in
            guard let cell = slot.cell else { return false }
            return try core.setIfAbsent(slot.encode(value), to: cell)
        }
    }

    /// Reads and writes several keys, all or none. The body runs again if somebody else changes what it read. If the
    /// transaction is kept until the server is back, it does not: what was read has to hold by then, or nothing is done.
    public nonisolated(nonsending) func transaction<Result>(
        _ body: (inout DefaultsTransaction<KeyStore>) throws -> Result
    ) async throws -> Result {
        try await core.offload { [core] () throws(DefaultsError) in
            try core.load(insists: true)
            core.prepareSchema()
        }
        var attempts = 0
        while true {
            var transaction = DefaultsTransaction<KeyStore>(core: core)
            let outcome = Swift.Result { try body(&transaction) }
            if let takeOver = transaction.takingOver {
                // What it read was not there yet.
                try await core.offload { () throws(DefaultsError) in takeOver() }
                continue
            }
            let result = try outcome.get()
            let finished = try transaction.finished()
            if finished.operations.isEmpty { return result }
            attempts += 1
            let isLast = attempts == Self.mostAttempts
            let isDone = try await core.offload { [core] () throws(DefaultsError) in
                try core.commitUnlessChanged(finished, isLast: isLast)
            }
            if isDone { return result }
        }
    }

    /// Waits until the server has what was written here, and what is read here is what the server has: everything that
    /// was acknowledged to anybody before.
    public nonisolated(nonsending) func synchronize() async throws(DefaultsError) {
        try await core.offload { [core] () throws(DefaultsError) in try core.synchronize() }
    }

    private static var mostAttempts: Int { 1000 }
}

extension AdapterCore {
    /// Sends a transaction; false if it has to be made anew, as what it read has changed.
    func commitUnlessChanged(_ transaction: Transaction, isLast: Bool) throws(DefaultsError) -> Bool {
        do {
            try commit(transaction.operations, if: transaction.conditions)
            return true
        } catch {
            guard !isLast, case .refused(let problem) = error, problem.code == .preconditionFailed,
                !problem.failed.isEmpty
            else { throw DefaultsError(error) }
            for failed in problem.failed {
                guard case .setting(let current) = failed.current else { continue }
                replica.change { $0.learn(current, fromRefusal: true) }
            }
            return false
        }
    }
}
