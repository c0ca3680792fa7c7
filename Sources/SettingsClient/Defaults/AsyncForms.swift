public import SettingsModel

// The forms for async code: they block no thread and throw what goes wrong. What returns has been acknowledged by the
// server: a write that is kept until the server is back throws `DefaultsError.kept`. What a cancelled task was to do and
// did not begin is not done. A key path may not leave its isolation, so each is turned into its slot at once.

extension KeyedAccess {
    /// The value of a key. Throws if the suite could not be loaded, or if what is stored is no value of the key.
    public nonisolated(nonsending) func value<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>
    ) async throws(DefaultsError) -> Value {
        try await core.reading(slot(path)).value
    }

    // Without a second form for paths, the compiler has no message at all for one with a typo.
    /// The value of a key, in place of which the form that is not optional is used.
    @available(*, unavailable)
    @_disfavoredOverload
    public nonisolated(nonsending) func value<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>
    ) async throws(DefaultsError) -> Value? {
        try await core.reading(slot(path)).value
    }

    /// The value of a key. Throws if the suite could not be loaded, or if what is stored is no value of the key.
    public nonisolated(nonsending) func value<Value>(
        _: Void = (), key: DefaultsKey<Value>
    ) async throws(DefaultsError) -> Value {
        let reading = try await core.reading(core.slots.slot(for: key))
        return reading.isDefault ? key.defaultValue : reading.value
    }

    /// Stores a value. Throws ``DefaultsError/kept(_:)`` if that is done only when the server is back.
    public nonisolated(nonsending) func set<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, _ value: Value
    ) async throws(DefaultsError) {
        try await core.store(value, in: slot(path))
    }

    /// Stores a value. Throws ``DefaultsError/kept(_:)`` if that is done only when the server is back.
    public nonisolated(nonsending) func set<Value>(
        _: Void = (), key: DefaultsKey<Value>, _ value: Value
    ) async throws(DefaultsError) {
        try await core.store(value, in: core.slots.slot(for: key))
    }

    /// Changes a value, again if somebody else changes it meanwhile: the body may run several times.
    public nonisolated(nonsending) func update<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, _ body: (inout Value) throws -> Void
    ) async throws {
        try await core.transaction(in: place) { try body(&$0[path]) }
    }

    /// Changes a value, again if somebody else changes it meanwhile: the body may run several times.
    public nonisolated(nonsending) func update<Value>(
        _: Void = (), key: DefaultsKey<Value>, _ body: (inout Value) throws -> Void
    ) async throws {
        try await core.transaction(in: place) { try body(&$0[key: key]) }
    }

    /// Stores a value if nothing is stored, which the server decides; says whether it did. The body runs only if nothing
    /// seems to be stored.
    @discardableResult
    public nonisolated(nonsending) func setIfAbsent<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Bool {
        let slot = self.slot(path)
        guard try await core.isAbsent(slot) else { return false }
        return try await core.storeIfAbsent(try await body(), in: slot)
    }

    /// Stores a value if nothing is stored, which the server decides; says whether it did. The body runs only if nothing
    /// seems to be stored.
    @discardableResult
    public nonisolated(nonsending) func setIfAbsent<Value>(
        _: Void = (), key: DefaultsKey<Value>, _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Bool {
        let slot = core.slots.slot(for: key)
        guard try await core.isAbsent(slot) else { return false }
        return try await core.storeIfAbsent(try await body(), in: slot)
    }
}

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// Reads and writes several keys, all or none. The body runs again if somebody else changes what it read. If the
    /// transaction is kept until the server is back, it does not: what was read has to hold by then, or nothing is done.
    ///
    /// The body also runs again if something has to be asked for that it read, as it runs where it was called.
    public nonisolated(nonsending) func transaction<Result>(
        _ body: (inout DefaultsTransaction<KeyStore>) throws -> Result
    ) async throws -> Result {
        try await core.transaction(in: root, body)
    }

    /// Waits until the server has what was written here, and what is read here is what the server has: everything that
    /// was acknowledged before.
    public nonisolated(nonsending) func synchronize() async throws(DefaultsError) {
        let moment = ContinuousClock.now
        try await core.offloadBehindAll { [core] () throws(DefaultsError) in try core.synchronize(since: moment) }
    }
}

extension AdapterCore {
    fileprivate nonisolated(nonsending) func transaction<Store, Result>(
        in place: StorePlace<Store>, _ body: (inout DefaultsTransaction<Store>) throws -> Result
    ) async throws -> Result {
        try await prepareTransaction()
        var told = TransactionRecord.Told()
        var attempts = 0
        while true {
            var transaction = DefaultsTransaction<Store>(core: self, place: place, told: told)
            let outcome = Swift.Result { try body(&transaction) }
            if let prepare = transaction.preparation {
                // What it read was not there yet.
                told = try await offload { [told] () throws(DefaultsError) in
                    var told = told
                    prepare(&told)
                    return told
                }
                continue
            }
            let result = try outcome.get()
            let finished = try transaction.finished()
            attempts += 1
            let isLast = attempts == Self.mostTransactions
            if try await isDone(finished, holds: transaction.holds(), isLast: isLast) { return result }
        }
    }

    private static var mostTransactions: Int { 1000 }
}
