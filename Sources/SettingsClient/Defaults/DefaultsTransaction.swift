internal import SettingsAPI
public import SettingsKeys
internal import Synchronization

/// Reads and writes of several keys that are done together or not at all.
///
/// A read gives the value when the transaction first read it, or as the transaction wrote it; if one of the keys read changes
/// before the end, the transaction is run again. So all values read were there at one time, also if it writes nothing.
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
            var change = record.begin(scope.reference(path))
            yield &change.value
            record.finish(change)
        }
    }

    /// The value of a key.
    public subscript<Value>(_: Void = (), key key: DefaultsKey<Value>) -> Value {
        mutating get { record.value(scope.reference(key: key)) }
        set { record.set(scope.reference(key: key), to: newValue) }
        _modify {
            var change = record.begin(scope.reference(key: key))
            yield &change.value
            record.finish(change)
        }
    }

    /// The value of a key, as if it were a property.
    public subscript<Value>(dynamicMember path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        mutating get { self[path] }
        set { self[path] = newValue }
        // Not through `self[path]`: that would write after a change that throws, too.
        _modify {
            var change = record.begin(scope.reference(path))
            yield &change.value
            record.finish(change)
        }
    }

    /// The keys of a store within this one: `t.player.volume`.
    public subscript<Inner: DefaultsKeyStore>(
        dynamicMember path: KeyPath<KeyStore, Inner>
    ) -> DefaultsTransaction<Inner> {
        // Reading notes what was read, so only a part that can be changed can be read.
        _read { yield DefaultsTransaction<Inner>(scope.inner(path), record) }
        _modify {
            var inner = DefaultsTransaction<Inner>(scope.inner(path), record)
            record = TransactionRecord(record.core, prepared: record.prepared)
            defer { record = inner.record }
            yield &inner
        }
    }
}

/// The reads and writes of one run of a transaction.
private struct TransactionRecord {
    /// A change in place within a transaction, between its reading and its writing.
    struct Change<Value: DefaultsSerializable> {
        let reference: DefaultsReference<Value>
        var value: Value
        /// The value as it was read, as JSON; nil for nothing.
        let before: Result<JSONValue?, DefaultsError>
    }

    let core: AdapterCore
    /// The keys of which the server was asked after an earlier run: what is still not known is taken as it is.
    let prepared: Set<KeyName>
    /// The keys of which the server has to be asked. That blocks, and the body runs on the caller's thread: so it is done
    /// after the run, and the transaction is run again.
    private(set) var lacking: [KeyName: @Sendable () -> Void] = [:]
    /// The state of each key when it was read first.
    private(set) var read: [KeyName: KeySight] = [:]
    private var written: [KeyName: JSONValue?] = [:]
    /// The keys written, in order.
    private var order: [KeyName] = []
    private var failure: DefaultsError?

    init(_ core: AdapterCore, prepared: Set<KeyName>) {
        self.core = core
        self.prepared = prepared
    }

    /// The transaction to send. Throws the first error of the run.
    func finished() throws(DefaultsError) -> Transaction {
        if let failure { throw failure }
        let conditions = read.sorted { $0.key < $1.key }.flatMap { key, sight in
            sight.tests.map { Transaction.Condition.setting(core.suite, key, $0) }
        }
        return Transaction(
            if: conditions,
            do: order.map { core.operation($0, (written[$0] ?? nil).map { .set($0) } ?? .delete) })
    }

    mutating func value<Value>(_ reference: DefaultsReference<Value>) -> Value {
        note { () throws(DefaultsError) in _ = try reference.slot.codec.get() }
        guard let key = reference.slot.name else { return reference.defaultValue }
        // Fails if no value that the server may hold is one of the key's type.
        note { [core] () throws(DefaultsError) in try core.refuseAnotherType(reference.knownDifferences() ?? []) }
        let sight = read[key] ?? reference.sight(key, asks: .never)
        if reference.isRenameOpen || reference.knownDifferences() == nil || sight.isUnsure {
            prepare(key) { reference.prepare(key) }
        }
        if let written = written[key] {
            let own = VisibleSetting(value: written, source: written == nil ? .unset : .stored, revision: nil)
            return reference.resolve(own, over: core.registered(key)).value ?? reference.defaultValue
        }
        read[key] = sight
        let reading = reference.reading(of: sight)
        if reading.isStoredUnreadable, let problem = reading.problem { failure = failure ?? problem }
        return reading.value ?? reference.defaultValue
    }

    mutating func set<Value>(_ reference: DefaultsReference<Value>, to value: Value) {
        var json: JSONValue?
        guard note({ () throws(DefaultsError) in json = try reference.slot.encode(value) }),
            let key = reference.slot.name
        else { return }
        if reference.isRenameOpen { prepare(key) { reference.prepare(key) } }
        if written.updateValue(json, forKey: key) == nil { order.append(key) }
    }

    mutating func begin<Value>(_ reference: DefaultsReference<Value>) -> Change<Value> {
        let value = value(reference)
        return Change(reference: reference, value: value, before: reference.slot.encoded(value))
    }

    /// Stores a value, if it became another.
    mutating func finish<Value>(_ change: Change<Value>) {
        if !isSameJSON(change.before, change.reference.slot.encoded(change.value)) {
            set(change.reference, to: change.value)
        }
    }

    /// Keeps the first error of the run; true if there is none here.
    @discardableResult
    private mutating func note(_ body: () throws(DefaultsError) -> Void) -> Bool {
        do {
            try body()
            return true
        } catch {
            failure = failure ?? error
            return false
        }
    }

    private mutating func prepare(_ key: KeyName, _ body: @escaping @Sendable () -> Void) {
        if !prepared.contains(key) { lacking[key] = body }
    }
}

extension DefaultsReference {
    fileprivate var isRenameOpen: Bool { slot.rename?.isOpen ?? false }

    /// Asks for what a transaction lacks of a key, and takes over the value of a renamed one.
    fileprivate func prepare(_ key: KeyName) {
        takeOver()
        _ = differences()
        _ = sight(key, asks: .unlessPaused)
    }
}

extension DefaultsScope {
    private static var maxAttempts: Int { 1000 }

    /// Runs a transaction until nothing that it read has changed meanwhile.
    nonisolated(nonsending) func transaction<Result>(
        _ body: (inout DefaultsTransaction<KeyStore>) throws -> Result
    ) async throws -> Result {
        let moment = ContinuousClock.now
        // Hardly any transaction can do without these.
        try await core.work.run { [core] () throws(DefaultsError) in
            try core.load(unlessFailedSince: moment)
            if let place = core.session.schema { _ = try? core.session.serverSchema(at: place) }
        }
        var prepared: Set<KeyName> = []
        var attempts = 0
        while true {
            var transaction = DefaultsTransaction(self, TransactionRecord(core, prepared: prepared))
            let outcome = Swift.Result { try body(&transaction) }
            let record = transaction.record
            if !record.lacking.isEmpty {
                try await core.work.run { () throws(DefaultsError) in
                    for prepare in record.lacking.values { prepare() }
                }
                prepared.formUnion(record.lacking.keys)
                continue
            }
            let result = try outcome.get()
            attempts += 1
            if try await core.isDone(
                record.finished(), holds: core.holds(record.read), isLast: attempts == Self.maxAttempts)
            {
                return result
            }
            prepared = []
        }
    }
}

extension AdapterCore {
    /// Sends a transaction; false if it has to be run again, as something that it read has changed.
    ///
    /// - Parameter holds: true if what it read is so now. The server decides that of one that writes something.
    fileprivate nonisolated(nonsending) func isDone(
        _ transaction: Transaction, holds: Bool, isLast: Bool
    ) async throws(DefaultsError) -> Bool {
        if transaction.operations.isEmpty {
            guard !isLast || holds else {
                throw .refused(Refusal(.preconditionFailed, "what is read of suite \(suite) is changed all the time"))
            }
            return holds
        }
        return try await work.run(about: Set(transaction.operations.map(\.key))) { [self] () throws(DefaultsError) in
            do throws(BackendError) {
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
}

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// Reads and writes several keys, all or none. The body runs again if something that it read changes. If the
    /// transaction is kept until the server is back, it does not: what was read has to hold by then, or nothing is done.
    ///
    /// The body also runs again if something has to be asked for that it read, as it runs where it was called.
    public nonisolated(nonsending) func transaction<Result>(
        _ body: (inout DefaultsTransaction<KeyStore>) throws -> Result
    ) async throws -> Result {
        try await Self.scope(of: self).transaction(body)
    }

    /// Waits until the server has what was written here, and what is read here is what the server has: everything that
    /// was acknowledged before.
    public nonisolated(nonsending) func synchronize() async throws(DefaultsError) {
        let moment = ContinuousClock.now
        try await core.work.run(about: nil) { [core] () throws(DefaultsError) in try core.synchronize(since: moment) }
    }
}
