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

    // The parameter of the type `Void` before `key:` gives a misspelt key path a clear compiler error, see
    // `KeyedAccess`.
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
            // The only copy of the record moves into the nested transaction and back, so that a write copies no
            // dictionary.
            record = TransactionRecord(record.core, askedKeys: record.askedKeys)
            defer { record = inner.record }
            yield &inner
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

    /// Runs a transaction. Runs the transaction again if another program changes a value after the transaction has read
    /// the value and before the daemon has stored the writes.
    nonisolated(nonsending) func transaction<Result>(
        _ deadline: DefaultsDeadline?, _ body: (inout DefaultsTransaction<KeyStore>) throws -> Result
    ) async throws -> (result: Result, pending: DefaultsPendingAction?) {
        if Task.isCancelled { throw DefaultsError.cancelled }
        try await core.load()
        // The reads in the body compare each key with the schema, but cannot wait for the schema.
        if let cursor = core.session.schemaCursor { _ = try? await core.session.fetchSchema(at: cursor) }
        // The keys about which the client has asked the daemon.
        var askedKeys: Set<KeyName> = []
        for attempt in 1...Self.maxAttempts {
            let submission = try await core.session.changeLock.withLock { () throws in
                // If the task was cancelled while it waited, this closure runs without the lock, so the writes could
                // conflict with another change.
                if Task.isCancelled { throw DefaultsError.cancelled }
                var transaction = DefaultsTransaction(self, TransactionRecord(core, askedKeys: askedKeys))
                let outcome = Swift.Result { try body(&transaction) }
                let record = transaction.record
                // If the client must ask the daemon about a value, the body runs again, so an error of this run is
                // ignored.
                guard record.uncertainKeys.isEmpty else {
                    return Submission<Result>.needsAnswers(record.uncertainKeys)
                }
                let result = try outcome.get()
                return try core.submit(
                    record.makeTransaction(), deadline, isCurrent: core.areUnchanged(record.firstReads), result)
            }
            switch submission {
            case .needsAnswers(let uncertainKeys):
                for askDaemon in uncertainKeys.values { await askDaemon() }
                askedKeys.formUnion(uncertainKeys.keys)
                continue
            case .done(let result): return (result, nil)
            case .changed: break
            case .queued(let waiter, let result):
                let summary = try await core.awaitAnswer(isLastAttempt: attempt == Self.maxAttempts) {
                    () async throws(BackendError) in try await core.session.result(of: waiter)
                }
                if summary != nil { return (result, nil) }
            case .direct(let call, let result):
                // After a refusal, the client gets the changes of other programs (`catchesUp`), for the next run.
                let summary = try await core.awaitAnswer(isLastAttempt: attempt == Self.maxAttempts) {
                    () async throws(BackendError) in try await core.session.sendAfterQueue(call, catchesUp: true)
                }
                if let summary { return (result, DefaultsPendingAction(summary.pending, in: core)) }
            }
            // Another program has changed a value, so the next run may ask the daemon about every key again.
            askedKeys = []
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
    /// The values of these keys are uncertain (``TransactionRecord/uncertainKeys``). After the functions have asked the
    /// daemon, the transaction runs again.
    case needsAnswers([KeyName: @Sendable () async -> Void])
    /// The transaction has read a consistent state and writes nothing.
    case done(Result)
    /// The transaction writes nothing, and a value that it has read has changed.
    case changed
    /// The writes are in the queue. The promise is fulfilled with the answer.
    case queued(Promise<WriteResult>, Result)
    /// The transaction has a deadline, so the calling code sends the request without the queue.
    case direct(DirectRequest<WriteSummary>, Result)
}

extension AdapterCore {
    /// Adds the writes of a transaction without a deadline to the queue. Returns the request of a transaction with a
    /// deadline. The calling code holds the lock of changes in place (``ChangeLock``), so the next transaction of the
    /// process reads the queued writes of this transaction.
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
}
