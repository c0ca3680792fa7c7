internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// The move of a stored value to the new name or the new type of its key, with the progress of the move.
///
/// For a new name, the first reader of the key submits a transaction that stores the value under the new name and
/// removes the value under the former name. The conditions of the transaction are that nothing is stored under the new
/// name, and that the former value is unchanged. For a new type, the transaction replaces the value on the condition
/// that the value is unchanged. If several programs submit the transaction at the same time, one program succeeds, and
/// the other programs read the moved value.
final class ValueMove: Sendable {
    private enum Progress {
        /// The next reader makes an attempt.
        case open
        /// An attempt is in progress. The promise is fulfilled when the attempt ends.
        case running(Promise<Void>)
        /// The value cannot be moved now: the daemon did not answer or accepts no writes at present, the queue is full,
        /// or the replica is from the cache file. After the daemon has confirmed the replica, the next reader makes an
        /// attempt.
        case waiting
        /// The daemon or the key has refused the value. After a change of the schema, the next reader makes an attempt.
        case refused(schema: Cursor?)
        /// The value has been moved, or there is no value to move.
        case done
    }

    /// The former names, the latest first.
    let formerNames: [KeyName]
    private let progress = Mutex(Progress.open)

    /// Returns nil if the key has neither a former name nor a former type. Throws if a former name is not a valid key
    /// name.
    init?<Value>(of key: DefaultsKey<Value>) throws(NameError) {
        guard !key.traits.renamedFrom.isEmpty || key.hasMigration else { return nil }
        var names: [KeyName] = []
        for name in key.traits.renamedFrom { names.append(try KeyName(name)) }
        formerNames = names
    }

    /// True if the next reader makes an attempt or waits for the attempt in progress.
    ///
    /// - Parameter schema: the cursor of the suite's schema.
    func nextReaderMovesValue(under schema: Cursor?) -> Bool {
        progress.withLock { progress in
            switch progress {
            case .open, .running: true
            case .refused(let refusingSchema): refusingSchema != schema
            case .waiting, .done: false
            }
        }
    }

    /// The former names under which the key is still read. Empty after the move has succeeded, and after the daemon or
    /// the key has refused the value: the refused value then stays, and writes do not remove it.
    var formerNamesInUse: [KeyName] {
        progress.withLock { progress in
            switch progress {
            case .open, .running, .waiting: formerNames
            case .refused, .done: []
            }
        }
    }

    /// Returns the promise of the attempt in progress, or of a new attempt. `isNew` is true if the calling code has to
    /// make the attempt. Returns nil if there is nothing to move, or if an attempt would fail now.
    fileprivate func beginAttempt(under schema: Cursor?) -> (attempt: Promise<Void>, isNew: Bool)? {
        progress.withLock { progress in
            switch progress {
            case .running(let attempt): return (attempt, false)
            case .waiting, .done: return nil
            case .refused(let refusingSchema) where refusingSchema == schema: return nil
            case .open, .refused:
                let attempt = Promise<Void>()
                progress = .running(attempt)
                return (attempt, true)
            }
        }
    }

    /// Records the outcome of the attempt in progress, and wakes the readers that wait for the end of the attempt.
    fileprivate func endAttempt(_ outcome: Outcome, under schema: Cursor?) {
        let attempt = progress.withLock { progress -> Promise<Void>? in
            defer {
                progress =
                    switch outcome {
                    case .done: .done
                    case .waiting: .waiting
                    case .changed: .open
                    case .refused: .refused(schema: schema)
                    }
            }
            if case .running(let attempt) = progress { return attempt }
            return nil
        }
        attempt?.fulfill(())
    }

    /// Lets the next reader make an attempt.
    fileprivate func reopen() {
        progress.withLock { if case .waiting = $0 { $0 = .open } }
    }

    /// The outcome of an attempt.
    fileprivate enum Outcome {
        /// The value has been moved, or there is no value to move.
        case done
        /// The value cannot be moved now.
        case waiting
        /// Another program has changed one of the settings. The next reader makes another attempt.
        case changed
        /// The value stays as it is, for this reason.
        case refused(DefaultsError)
    }
}

extension DefaultsReference {
    /// True if the next reader of the key makes an attempt to move the value, or waits for the attempt in progress.
    var nextReaderMovesValue: Bool {
        resolved.valueMove?.nextReaderMovesValue(under: core.session.schemaCursor) ?? false
    }

    /// The former names under which a value may be stored. A write also removes these values: until the move has ended,
    /// a program that starts later may move a value from a former name, so the value would return after a removal of
    /// the new value. The other former names stay out of the write, because a schema may refuse the removal of a name
    /// without a value.
    var formerNamesToRemove: [KeyName] {
        // A stale replica is from the cache file, and may lack a value that the daemon has.
        let isUncertain = !core.session.isLoaded || core.session.isStale
        return resolved.valueMove?.formerNamesInUse.filter {
            isUncertain || core.session.visibleSetting($0).mayBeStored
        } ?? []
    }

    /// Loads the suite and moves the value if the move has not ended, so that a query such as `isSet` finds the moved
    /// value.
    func loadAndMoveValue(until deadline: ContinuousClock.Instant) {
        guard nextReaderMovesValue, let key = resolved.name else { return }
        if (try? core.load(for: key, until: deadline)) != nil { moveValue(until: deadline) }
    }

    /// The maximum number of attempts of one call. Each attempt without success means that another program has changed
    /// one of the settings.
    private static var maxMoveAttempts: Int { 100 }

    /// Moves the value, and blocks the calling thread until the daemon has answered.
    func moveValue(until deadline: ContinuousClock.Instant) {
        for _ in 0..<Self.maxMoveAttempts {
            // The client thread must not block, because it receives the answer.
            guard core.session.isLoaded, !ClientThread.shared.isCurrent, let attempt = startMove(),
                core.session.mayAnswerInTime,
                attempt.wait(until: deadline) != nil
            else { return }
        }
    }

    /// Moves the value, and waits without blocking a thread until the daemon has answered.
    nonisolated(nonsending) func moveValueAndWait() async {
        let deadline = core.session.deadline
        for _ in 0..<Self.maxMoveAttempts {
            guard let attempt = startMove(), await attempt.value(until: deadline) != nil else { return }
        }
    }

    /// Queues the transaction that moves the value, unless an attempt is in progress. The suite must be loaded. Returns
    /// a promise that is fulfilled when the attempt ends. Returns nil if there is nothing to wait for.
    @discardableResult
    func startMove() -> Promise<Void>? {
        guard let move = resolved.valueMove, let key = resolved.name else { return nil }
        let schema = core.session.schemaCursor
        guard let (promise, isNew) = move.beginAttempt(under: schema) else { return nil }
        guard isNew else { return promise }
        let confirmations = core.session.confirmations
        let attempt = ValueMover(resolved: resolved, session: core.session).makeAttempt(move, key)
        if case .ended(let outcome) = attempt {
            Self.endMove(
                move, outcome, under: schema, after: confirmations, core.session, core.issues,
                DefaultsIssue.Subject(suite: core.suite, key: name))
            return nil
        }
        // The task may wait as long as an outage lasts, so it must not retain the adapter.
        core.session.startTask { [weak session = core.session, issues = core.issues, suite = core.suite, name] in
            let outcome = await attempt.outcome()
            Self.endMove(
                move, outcome, under: schema, after: confirmations, session, issues,
                DefaultsIssue.Subject(suite: suite, key: name))
        }
        return promise
    }

    /// Records the outcome of an attempt, and reports a refusal.
    ///
    /// - Parameters:
    ///   - schema: the cursor of the schema at the start of the attempt.
    ///   - confirmations: how often the daemon had confirmed the replica at the start of the attempt.
    private static func endMove(
        _ move: ValueMove, _ outcome: ValueMove.Outcome, under schema: Cursor?, after confirmations: Int,
        _ session: SuiteSession?, _ issues: IssueReporter, _ subject: DefaultsIssue.Subject
    ) {
        if case .refused(let reason) = outcome {
            issues.report(DefaultsIssue(suite: subject.suite, key: subject.key, attempt: .read, error: reason))
        }
        move.endAttempt(outcome, under: schema)
        if case .waiting = outcome { session?.whenConfirmed(after: confirmations) { move.reopen() } }
    }

    /// Returns true if a value is probably stored under the present name. If the source is unknown, a value that equals
    /// the key's default counts as a default of the schema.
    func seemsStored(_ visible: ReplicaSetting) -> Bool {
        if let source = visible.source { return source.isStored }
        guard let value = visible.value else { return false }
        guard case .success(let encodedDefault?) = resolved.encoded(defaultValue) else { return true }
        return !encodedDefault.isMathematicallyEqual(to: value)
    }
}

/// An attempt to move a value.
private enum MoveAttempt {
    /// The attempt ended without a request.
    case ended(ValueMove.Outcome)
    /// The outcome depends on an answer of the daemon. The function waits for the answer.
    case started(awaitOutcome: @Sendable () async -> ValueMove.Outcome)

    func outcome() async -> ValueMove.Outcome {
        switch self {
        case .ended(let outcome): outcome
        case .started(let awaitOutcome): await awaitOutcome()
        }
    }
}

/// Begins attempts to move the value of a key. Has no reference to the adapter: an attempt may wait as long as an
/// outage lasts, and must not retain the adapter.
private struct ValueMover<Value: DefaultsSerializable> {
    let resolved: ResolvedKey<Value>
    let session: SuiteSession

    /// Begins an attempt to move the value.
    func makeAttempt(_ move: ValueMove, _ key: KeyName) -> MoveAttempt {
        let setting = session.visibleSetting(key)
        if resolved.key.hasMigration {
            if let value = setting.value, let attempt = convert(value, of: key, if: .value(value)) { return attempt }
            // The schema does not allow the stored value, so the replica lacks the value, and the client must fetch it.
            if setting.source == .invalid { return .started { await convertInvalidValue(of: key) } }
        }
        let isStored = setting.source?.isStored ?? false
        // A replica from the cache file may lack a value that the daemon has. The move then waits until the daemon has
        // confirmed the replica.
        guard !isStored, let former = move.formerNames.first(where: { session.visibleSetting($0).mayBeStored }) else {
            return .ended(session.isStale ? .waiting : .done)
        }
        if let visible = session.visibleSetting(former).value {
            return moveToNewName(visible, from: former, to: key, if: [.stored(true), .value(visible)])
        }
        // The schema does not allow the stored value, so the replica lacks the value, and the client must fetch it.
        return .started {
            guard let setting = try? await session.fetch(former) else { return .waiting }
            guard let stored = setting.stored ?? setting.value else { return .done }
            return await moveToNewName(stored, from: former, to: key, if: [.revision(setting.revision)]).outcome()
        }
    }

    /// Submits the conversion of a value of the former type that is stored under the present name of the key. Returns
    /// nil if there is nothing to convert, for example because the value has the present type.
    private func convert(
        _ value: JSONValue, of key: KeyName, if test: Transaction.Condition.Test
    ) -> MoveAttempt? {
        guard case .success(let codec) = resolved.codec else { return nil }
        do {
            guard let converted = try codec.migrated(value) else { return nil }
            return submit([(key, .set(converted))], if: [.setting(session.suite, key, test)], from: key)
        } catch {
            return .ended(.refused(.notTakenOver(from: key.text, .invalid(error))))
        }
    }

    /// Fetches a stored value that the schema does not allow, converts the value, and waits for the outcome.
    private func convertInvalidValue(of key: KeyName) async -> ValueMove.Outcome {
        guard let setting = try? await session.fetch(key) else { return .waiting }
        guard let stored = setting.stored ?? setting.value,
            let attempt = convert(stored, of: key, if: .revision(setting.revision))
        else { return .done }
        return await attempt.outcome()
    }

    private func moveToNewName(
        _ value: JSONValue, from former: KeyName, to key: KeyName, if tests: [Transaction.Condition.Test]
    ) -> MoveAttempt {
        guard case .success(let codec) = resolved.codec else { return .ended(.done) }
        var value = value
        do {
            if let converted = try codec.migrated(value) { value = converted }
            _ = try codec.decode(value)
        } catch {
            return .ended(.refused(.notTakenOver(from: former.text, .invalid(error))))
        }
        let suite = session.suite
        return submit(
            [(key, .set(value)), (former, .delete)],
            if: [.setting(suite, key, .stored(false))] + tests.map { .setting(suite, former, $0) }, from: former)
    }

    /// Submits the transaction that moves or converts a value.
    ///
    /// - Parameter source: the name under which the value is stored now, for the error of a refusal.
    private func submit(
        _ operations: [(key: KeyName, action: Transaction.Operation.Action)], if conditions: [Transaction.Condition],
        from source: KeyName
    ) -> MoveAttempt {
        let operations = operations.map { Transaction.Operation(suite: session.suite, key: $0.key, $0.action) }
        let change = PendingChange(
            action: .transaction(Transaction(if: conditions, do: operations)), requestKey: .unique())
        let waiter = Promise<WriteResult>()
        do {
            try session.enqueueInBackground(change, waiter: waiter, waitsWithoutTimeout: true)
        } catch {
            // The queue is full, and may have room later.
            if case .refused = error { return .ended(.waiting) }
            return .ended(.refused(.notTakenOver(from: source.text, DefaultsError(error))))
        }
        return .started {
            switch await waiter.value() {
            case .success: return .done
            case .failure(.refused(let problem)):
                // The daemon may accept the same write later.
                if problem.allowsLaterSuccess { return .waiting }
                if problem.code == .preconditionFailed, !problem.failed.isEmpty { return .changed }
                return .refused(.notTakenOver(from: source.text, .refused(Refusal(problem))))
            case .failure, nil: return .waiting
            }
        }
    }
}

extension ReplicaSetting {
    /// True if a value may be stored under a former name. If the source is unknown, a default of the schema counts as
    /// stored.
    var mayBeStored: Bool { value != nil && source != .default || source == .invalid }
}
