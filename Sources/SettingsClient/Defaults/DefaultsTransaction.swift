internal import SettingsAPI
public import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// The reads and writes of a transaction on several keys. The daemon stores all of the writes or none of them.
///
/// A read returns the value that the transaction has written, or else the value at the first read of the key. If
/// another program changes a key after the transaction has read the key and before the daemon has stored the writes,
/// the transaction runs again. All values that a transaction reads therefore belong to one revision of the suite, even
/// if the transaction writes nothing.
@dynamicMemberLookup
public struct DefaultsTransaction<KeyStore: Sendable>: ~Copyable {
    private let scope: DefaultsScope<KeyStore>
    fileprivate private(set) var record: TransactionRecord

    fileprivate init(_ scope: DefaultsScope<KeyStore>, _ record: TransactionRecord) {
        self.scope = scope
        self.record = record
    }

    /// The value of a key.
    public subscript<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        mutating get { record.value(scope.reference(path)) }
        set { record.set(scope.reference(path), to: newValue) }
        _modify {
            var change = record.beginChange(scope.reference(path))
            yield &change.value
            record.endChange(change)
        }
    }

    /// The value of a key.
    public subscript<Value>(_: Void = (), key key: DefaultsKey<Value>) -> Value {
        mutating get { record.value(scope.reference(key: key)) }
        set { record.set(scope.reference(key: key), to: newValue) }
        _modify {
            var change = record.beginChange(scope.reference(key: key))
            yield &change.value
            record.endChange(change)
        }
    }

    /// The value of a key, with the syntax of a property.
    public subscript<Value>(dynamicMember path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        mutating get { self[path] }
        set { self[path] = newValue }
        // An implementation with `self[path]` would write even if the change throws.
        _modify {
            var change = record.beginChange(scope.reference(path))
            yield &change.value
            record.endChange(change)
        }
    }

    /// Removes the stored value of a key.
    public mutating func unset<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) {
        record.unset(scope.reference(path))
    }

    /// Removes the stored value of a key.
    public mutating func unset<Value>(_: Void = (), key: DefaultsKey<Value>) {
        record.unset(scope.reference(key: key))
    }

    /// The value of a name as JSON, without a declared type. Nil if there is no value. Assigning nil removes the stored
    /// value.
    public subscript<Name: SettingName>(name name: Name) -> JSONValue? {
        mutating get { record.value(ofName: String(name)) }
        set { record.set(String(name), to: newValue) }
    }

    /// The keys of a nested store: `t.player.volume`.
    public subscript<Inner: DefaultsKeyStore>(
        dynamicMember path: KeyPath<KeyStore, Inner>
    ) -> DefaultsTransaction<Inner> {
        // The transaction of the nested store records reads, so its getters are mutating and the compiler uses
        // `_modify`. `_read` exists because Swift requires it.
        _read { yield DefaultsTransaction<Inner>(scope.nestedScope(path), record) }
        _modify {
            var inner = DefaultsTransaction<Inner>(scope.nestedScope(path), record)
            record = TransactionRecord(record.core, prepared: record.prepared)
            defer { record = inner.record }
            yield &inner
        }
    }
}

/// The reads and writes of one run of a transaction.
private struct TransactionRecord {
    /// A change in place within a transaction, between the read and the write of the value.
    struct Change<Value: DefaultsSerializable> {
        let reference: DefaultsReference<Value>
        var value: Value
        /// The JSON of the value before the change. Nil for an optional that is nil.
        let before: Result<JSONValue?, DefaultsError>
    }

    let core: AdapterCore
    /// The keys that were prepared after an earlier run, and are not prepared again. If the source of such a key is
    /// still unknown, the run continues without the source.
    let prepared: Set<KeyName>
    /// The keys with uncertain values. The function of a key moves the value of a renamed key, and fetches an unknown
    /// source from the daemon. The body of the transaction cannot suspend, so the functions run after the body, and
    /// then the body runs again.
    private(set) var preparations: [KeyName: @Sendable () async -> Void] = [:]
    /// The state of each key at its first read.
    private(set) var read: [KeyName: KeyState] = [:]
    /// The JSON that was written last under each key. Nil for a removal.
    private var written: [KeyName: JSONValue?] = [:]
    /// The keys in `written`, in the order of their first writes.
    private var writtenKeys: [KeyName] = []
    /// The first error of the run.
    private var failure: DefaultsError?

    init(_ core: AdapterCore, prepared: Set<KeyName>) {
        self.core = core
        self.prepared = prepared
    }

    /// Returns the transaction to send. Throws the first error of the run.
    func makeTransaction() throws(DefaultsError) -> Transaction {
        if let failure { throw failure }
        let conditions = read.sorted { $0.key < $1.key }.flatMap { key, keyState in
            keyState.tests.map { Transaction.Condition.setting(core.suite, key, $0) }
        }
        return Transaction(
            if: conditions,
            do: writtenKeys.map { core.makeOperation($0, (written[$0] ?? nil).map { .set($0) } ?? .delete) })
    }

    mutating func value<Value>(_ reference: DefaultsReference<Value>) -> Value {
        recordError { () throws(DefaultsError) in _ = try reference.resolved.codec.get() }
        guard let key = reference.resolved.name else { return reference.defaultValue }
        recordError { [core] () throws(DefaultsError) in try core.throwIfTypesDiffer(reference.compareWithSchema()) }
        let keyState = read[key] ?? reference.keyState(key)
        if keyState.needsSource || reference.resolved.valueMove?.isOpen ?? false { prepare(reference, key) }
        if let written = written[key] {
            let setting = ReplicaSetting(value: written, source: written == nil ? .unset : .stored, revision: nil)
            return reference.reading(of: setting, over: core.registered(key)).value ?? reference.defaultValue
        }
        read[key] = keyState
        let reading = reference.reading(of: keyState)
        if reading.isReplicaValueUnreadable, let problem = reading.problem { failure = failure ?? problem }
        return reading.value ?? reference.defaultValue
    }

    mutating func set<Value>(_ reference: DefaultsReference<Value>, to value: Value) {
        var json: JSONValue?
        guard recordError({ () throws(DefaultsError) in json = try reference.resolved.encode(value) }),
            let key = reference.resolved.name
        else { return }
        if reference.resolved.valueMove?.isOpen ?? false { prepare(reference, key) }
        write(key, json)
        // While the move waits, a value under a former name could return after a later removal. A schema may not allow
        // the removal of a former name without a value.
        for name in reference.resolved.valueMove?.openNames ?? []
        where core.session.isStale || core.session.visible(name).seemsStored {
            write(name, nil)
        }
    }

    private mutating func prepare<Value>(_ reference: DefaultsReference<Value>, _ key: KeyName) {
        guard !prepared.contains(key) else { return }
        preparations[key] = {
            await reference.moveValueAndWait()
            if reference.keyState(key).needsSource { _ = try? await reference.core.fetchSource(key) }
        }
    }

    mutating func unset<Value>(_ reference: DefaultsReference<Value>) {
        guard let key = reference.resolved.name else { return }
        for name in [key] + (reference.resolved.valueMove?.openNames ?? []) { write(name, nil) }
    }

    mutating func value(ofName name: String) -> JSONValue? {
        guard let key = key(name) else { return nil }
        if let written = written[key] { return written }
        if let keyState = read[key] { return keyState.visible.value }
        let visible = core.session.visible(key)
        read[key] = KeyState(visible: visible, origin: visible, registered: nil)
        return visible.value
    }

    mutating func set(_ name: String, to json: JSONValue?) {
        guard let key = key(name) else { return }
        recordError { [core] () throws(DefaultsError) in try core.refuseNonFinite(json, name) }
        write(key, json)
    }

    private mutating func key(_ name: String) -> KeyName? {
        do {
            return try KeyName(name)
        } catch {
            failure = failure ?? .unusableName(error)
            return nil
        }
    }

    private mutating func write(_ key: KeyName, _ json: JSONValue?) {
        if written.updateValue(json, forKey: key) == nil { writtenKeys.append(key) }
    }

    mutating func beginChange<Value>(_ reference: DefaultsReference<Value>) -> Change<Value> {
        let value = value(reference)
        return Change(reference: reference, value: value, before: reference.resolved.encoded(value))
    }

    /// Stores the value of a change in place, if the change has modified it.
    mutating func endChange<Value>(_ change: Change<Value>) {
        if !isSameJSON(change.before, change.reference.resolved.encoded(change.value)) {
            set(change.reference, to: change.value)
        }
    }

    /// Calls a function, and records the first error of the run. Returns true if the function threw no error.
    @discardableResult
    private mutating func recordError(_ body: () throws(DefaultsError) -> Void) -> Bool {
        do {
            try body()
            return true
        } catch {
            failure = failure ?? error
            return false
        }
    }
}

extension DefaultsScope {
    private static var maxAttempts: Int { 1000 }

    nonisolated(nonsending) func transaction<Result>(
        _ body: (inout DefaultsTransaction<KeyStore>) throws -> Result
    ) async throws -> Result {
        try await transaction(nil, body).result
    }

    /// Runs a transaction, and runs it again while another program changes a value that the transaction has read before
    /// the daemon stores the writes.
    nonisolated(nonsending) func transaction<Result>(
        _ deadline: DefaultsDeadline?, _ body: (inout DefaultsTransaction<KeyStore>) throws -> Result
    ) async throws -> (result: Result, pending: DefaultsPendingAction?) {
        if Task.isCancelled { throw DefaultsError.cancelled }
        try await core.load()
        if let schema = core.session.schema { _ = try? await core.session.fetchSchema(at: schema) }
        var prepared: Set<KeyName> = []
        for attempt in 1...Self.maxAttempts {
            let submission = try await core.session.changeLock.withLock { () throws in
                // A cancelled task does not wait for the lock, so its writes could conflict with another change.
                if Task.isCancelled { throw DefaultsError.cancelled }
                var transaction = DefaultsTransaction(self, TransactionRecord(core, prepared: prepared))
                let outcome = Swift.Result { try body(&transaction) }
                let record = transaction.record
                // An error of a run with uncertain values means nothing, because the body runs again.
                guard record.preparations.isEmpty else {
                    return Submission<Result>.needsPreparation(record.preparations)
                }
                let result = try outcome.get()
                return try core.submit(
                    record.makeTransaction(), deadline, isCurrent: core.areUnchanged(record.read), result)
            }
            switch submission {
            case .needsPreparation(let keys):
                for prepare in keys.values { await prepare() }
                prepared.formUnion(keys.keys)
                continue
            case .done(let result): return (result, nil)
            case .changed: break
            case .queued(let waiter, let result):
                let summary = try await core.awaitAnswer(isLastAttempt: attempt == Self.maxAttempts) {
                    () async throws(BackendError) in try await core.session.result(of: waiter)
                }
                if summary != nil { return (result, nil) }
            case .direct(let call, let result):
                let summary = try await core.awaitAnswer(isLastAttempt: attempt == Self.maxAttempts) {
                    () async throws(BackendError) in try await core.session.sendAfterQueue(call, catchesUp: true)
                }
                if let summary { return (result, DefaultsPendingAction(summary.pending, in: core)) }
            }
            prepared = []
        }
        throw DefaultsError.refused(
            Refusal(
                .preconditionFailed,
                "cannot complete the transaction: other programs changed suite \(core.suite) during each of "
                    + "\(Self.maxAttempts) attempts; retry later"))
    }
}

/// The outcome of one run of a transaction.
private enum Submission<Result> {
    /// Keys have uncertain values. After the functions have prepared the keys, the transaction runs again.
    case needsPreparation([KeyName: @Sendable () async -> Void])
    /// The transaction has read a consistent state and writes nothing.
    case done(Result)
    /// The transaction writes nothing, and a value that it has read has changed.
    case changed
    /// The writes are in the queue. The promise is fulfilled with the answer.
    case queued(Promise<WriteResult>, Result)
    /// The transaction has a deadline, so the caller sends it without the queue.
    case direct(DirectRequest<WriteSummary>, Result)
}

extension AdapterCore {
    /// Adds a transaction without a deadline to the queue. The caller holds the lock of changes in place, so the next
    /// transaction of the process reads the writes of this transaction.
    ///
    /// - Parameter isCurrent: true if no value that the transaction has read has changed.
    fileprivate func submit<Result>(
        _ transaction: Transaction, _ deadline: DefaultsDeadline?, isCurrent: Bool, _ result: Result
    ) throws(DefaultsError) -> Submission<Result> {
        guard !transaction.operations.isEmpty else { return isCurrent ? .done(result) : .changed }
        if let deadline { return .direct(.commit(transaction, deadline), result) }
        let waiter = Promise<WriteResult>()
        do throws(BackendError) {
            try session.enqueueInBackground(
                makeTransaction(transaction.operations, if: transaction.conditions), waiter: waiter)
        } catch {
            throw DefaultsError(error)
        }
        return .queued(waiter, result)
    }

    /// Waits for the answer to a transaction. Returns nil if the transaction has to run again, because a value that it
    /// has read has changed. In the last attempt, throws the refusal instead.
    fileprivate nonisolated(nonsending) func awaitAnswer(
        isLastAttempt: Bool, _ answer: nonisolated(nonsending) () async throws(BackendError) -> WriteSummary
    ) async throws(DefaultsError) -> WriteSummary? {
        do throws(BackendError) {
            return try await answer()
        } catch {
            guard !isLastAttempt, case .refused(let problem) = error, problem.code == .preconditionFailed,
                !problem.failed.isEmpty
            else { throw DefaultsError(error) }
            // The next run needs the current values. A refusal does not contain secret values, so the client fetches
            // them.
            for failed in problem.failed {
                if case .setting(let current) = failed.current, current.isConcealed {
                    _ = try? await session.fetch(current.key)
                }
            }
            return nil
        }
    }
}

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// Reads and writes several keys atomically, and waits until the daemon has confirmed the writes.
    ///
    /// The body runs again if another program changes a value that the body has read, or if the adapter has to ask the
    /// daemon about a key that the body uses.
    ///
    /// If the daemon does not answer in time, the call throws ``DefaultsError/kept(_:)``. The transaction then stays in
    /// the queue, and the daemon carries it out only if the values that it read are still the same.
    public nonisolated(nonsending) func transaction<Result>(
        _ body: (inout DefaultsTransaction<KeyStore>) throws -> Result
    ) async throws -> Result {
        try await Self.scope(of: self).transaction(body)
    }

    /// Writes several keys in one commit that the daemon will revert, or schedules the commit.
    ///
    ///     try await Defaults.transaction(.until(.seconds(7200))) { settings in
    ///         settings.volume = 0.1
    ///         settings.unset(\.username)
    ///     }
    ///
    /// The body runs again for the same reasons as the body of a transaction without a deadline. The daemon carries out
    /// a scheduled transaction only if the values that the body has read are then still the same. The outbox never
    /// contains the transaction: if the daemon does not answer, the method throws, and the client does not send the
    /// writes later.
    ///
    /// - Parameters:
    ///   - deadline: the time at which the daemon reverts the changes or makes the changes.
    ///   - body: reads and writes keys.
    /// - Returns: the pending action. Nil if the transaction changes nothing.
    @discardableResult
    public nonisolated(nonsending) func transaction(
        _ deadline: DefaultsDeadline, _ body: (inout DefaultsTransaction<KeyStore>) throws -> Void
    ) async throws -> DefaultsPendingAction? {
        try await Self.scope(of: self).transaction(deadline, body).pending
    }

    /// Waits until the suite is loaded. After that, getters do not wait for the load.
    ///
    /// Throws if the daemon does not answer within the timeout of the adapter, or refuses the suite.
    public nonisolated(nonsending) func ready() async throws(DefaultsError) {
        try await core.load()
    }

    /// Waits until the daemon has answered all writes that the program made with this adapter before the call.
    ///
    /// Throws ``DefaultsError/kept(_:)`` if a write has to wait longer than the timeout of the adapter. If the daemon
    /// refuses a write, the method does not throw: the adapter reports the refusal in ``issues``.
    public nonisolated(nonsending) func flush() async throws(DefaultsError) {
        let result = await Result { () async throws(BackendError) in
            try await core.session.flush(until: core.session.deadline)
        }
        await core.issues.waitUntilLoggedInBackground(until: core.session.deadline)
        if case .failure(let error) = result { throw DefaultsError(error) }
    }

    /// Waits until the daemon has answered all writes of this adapter, and the replica contains all changes that the
    /// daemon stored before the call.
    public nonisolated(nonsending) func synchronize() async throws(DefaultsError) {
        try await core.synchronize()
    }

    /// Blocks the calling thread until the daemon has answered all writes of this adapter, and the replica contains all
    /// changes that the daemon stored before the call.
    public func synchronize() throws(DefaultsError) {
        defer { core.issues.waitUntilLogged(until: core.session.deadline) }
        let session = core.session
        do throws(BackendError) {
            try session.blocking(until: session.deadline) { () async throws(BackendError) in
                try await session.synchronize(until: session.deadline)
            }
        } catch {
            throw DefaultsError(error)
        }
    }

    /// Removes all stored values of the suite, and waits until the daemon has confirmed the removal.
    public nonisolated(nonsending) func unsetAll() async throws(DefaultsError) {
        try await core.commit(PendingChange(action: .removeAll, requestKey: .unique()))
    }
}
