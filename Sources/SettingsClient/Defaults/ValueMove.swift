internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// The move of a stored value to the new name or the new type of its key, with the progress of the move.
///
/// The first reader of the key submits a transaction that stores the value under the new name and removes it under the
/// old name. The conditions of the transaction are that nothing is stored under the new name, and that the old value is
/// unchanged. If several programs submit the transaction at the same time, one program succeeds, and the other programs
/// read the new key.
final class ValueMove: Sendable {
    private enum Progress {
        /// The next reader makes an attempt.
        case open
        /// The promise is fulfilled when the attempt ends.
        case running(Promise<Void>)
        /// The value cannot be moved now: the daemon did not answer or refused for a time, the queue is full, or the
        /// replica is from the cache file. The next reader makes an attempt after the client has loaded the suite.
        case waiting
        /// The daemon or the key has refused the value. The move is tried again when the schema changes.
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
    var isOpen: Bool {
        progress.withLock { progress in
            switch progress {
            case .open, .running: true
            case .waiting, .refused, .done: false
            }
        }
    }

    /// The former names, as long as a value may be stored under one of them.
    var openNames: [KeyName] {
        progress.withLock { progress in
            switch progress {
            case .open, .running, .waiting: formerNames
            case .refused, .done: []
            }
        }
    }

    /// Returns the promise of the attempt in progress. `isNew` is true if the caller has to make the attempt. Returns
    /// nil if there is nothing to move.
    fileprivate func begin(under schema: Cursor?) -> (attempt: Promise<Void>, isNew: Bool)? {
        progress.withLock { progress in
            switch progress {
            case .running(let attempt): return (attempt, false)
            case .waiting, .done: return nil
            case .refused(let former) where former == schema: return nil
            case .open, .refused:
                let attempt = Promise<Void>()
                progress = .running(attempt)
                return (attempt, true)
            }
        }
    }

    fileprivate func end(_ outcome: Outcome, under schema: Cursor?) {
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

    fileprivate func reopen() {
        progress.withLock { if case .waiting = $0 { $0 = .open } }
    }

    fileprivate enum Outcome {
        case done
        case waiting
        /// Another program has changed one of the settings. The next reader tries again.
        case changed
        /// The value stays under the former name.
        case refused(DefaultsError)
    }
}

extension DefaultsReference {
    /// Loads the suite and moves the value of a renamed key, so that a query such as `isSet` is about the moved value.
    func loadAndMoveValue() {
        guard let move = resolved.valueMove, move.isOpen, let key = resolved.name else { return }
        let deadline = core.session.deadline
        if (try? core.load(for: key, until: deadline)) != nil { moveValue(until: deadline) }
    }

    /// The limit of attempts. Each failed attempt means that another program changed one of the settings.
    private static var maxMoveAttempts: Int { 100 }

    /// Moves the value, and blocks the calling thread until the daemon has answered.
    func moveValue(until deadline: ContinuousClock.Instant) {
        for _ in 0..<Self.maxMoveAttempts {
            // The thread of the client must not block, because it receives the answer.
            guard core.session.isLoaded, !ClientThread.shared.isCurrent, let attempt = moveValue(),
                core.session.mayAnswerInTime,
                attempt.wait(until: deadline) != nil
            else { return }
        }
    }

    /// Moves the value, and waits without blocking a thread until the daemon has answered.
    nonisolated(nonsending) func moveValueAndWait() async {
        let deadline = core.session.deadline
        for _ in 0..<Self.maxMoveAttempts {
            guard let attempt = moveValue(), await attempt.value(until: deadline) != nil else { return }
        }
    }

    /// Submits the transaction that moves the value, unless it was submitted before. The suite must be loaded. Returns
    /// a promise that is fulfilled when the daemon has answered. Returns nil if there is nothing to wait for.
    @discardableResult
    func moveValue() -> Promise<Void>? {
        guard let move = resolved.valueMove, let key = resolved.name else { return nil }
        let schema = core.session.schema
        guard let (promise, isNew) = move.begin(under: schema) else { return nil }
        guard isNew else { return promise }
        let attempt = attempt(move, key)
        if let outcome = attempt.outcome {
            Self.endMove(
                move, outcome, under: schema, core.session, core.issues,
                DefaultsIssue.Subject(suite: core.suite, key: name))
            return nil
        }
        // The task may wait for a long outage, so it must not retain the adapter.
        core.session.startTask { [weak session = core.session, issues = core.issues, suite = core.suite, name] in
            let outcome = await attempt.result()
            Self.endMove(move, outcome, under: schema, session, issues, DefaultsIssue.Subject(suite: suite, key: name))
        }
        return promise
    }

    private static func endMove(
        _ move: ValueMove, _ outcome: ValueMove.Outcome, under schema: Cursor?, _ session: SuiteSession?,
        _ issues: IssueReporter, _ subject: DefaultsIssue.Subject
    ) {
        if case .refused(let reason) = outcome {
            issues.report(DefaultsIssue(suite: subject.suite, key: subject.key, attempt: .read, error: reason))
        }
        move.end(outcome, under: schema)
        if case .waiting = outcome { session?.whenConfirmed { move.reopen() } }
    }

    private struct Attempt {
        /// The outcome, if it is known without a request. Otherwise `result` waits for the outcome.
        var outcome: ValueMove.Outcome?
        var result: @Sendable () async -> ValueMove.Outcome = { .done }
    }

    private func attempt(_ move: ValueMove, _ key: KeyName) -> Attempt {
        let session = core.session
        let setting = session.visible(key)
        if resolved.key.hasMigration {
            if let value = setting.value, let attempt = convert(value, of: key, if: .value(value)) { return attempt }
            // The schema does not allow the stored value, so the replica does not contain it.
            if setting.source == .invalid { return Attempt { await convertInvalidValue(of: key) } }
        }
        let isStored = setting.source?.isStored ?? false
        // A replica from the cache file may lack a value that the daemon has, so the move waits for the daemon.
        guard !isStored, let former = move.formerNames.first(where: { session.visible($0).seemsStored }) else {
            return Attempt(outcome: session.isStale ? .waiting : .done)
        }
        if let visible = session.visible(former).value {
            return moveToNewName(visible, from: former, to: key, if: [.stored(true), .value(visible)])
        }
        // The schema does not allow the stored value, so the replica does not contain it.
        return Attempt {
            guard let setting = try? await session.fetch(former) else { return .waiting }
            guard let stored = setting.stored ?? setting.value else { return .done }
            let attempt = moveToNewName(stored, from: former, to: key, if: [.revision(setting.revision)])
            if let outcome = attempt.outcome { return outcome }
            return await attempt.result()
        }
    }

    /// Converts a value of the former type that is stored under the key's own name. Returns nil if there is nothing to
    /// convert.
    private func convert(
        _ value: JSONValue, of key: KeyName, if test: Transaction.Condition.Test
    ) -> Attempt? {
        guard case .success(let codec) = resolved.codec else { return nil }
        do {
            guard let converted = try codec.migrated(value) else { return nil }
            return submit(
                core.makeTransaction([core.makeOperation(key, .set(converted))], if: [.setting(core.suite, key, test)]),
                from: key)
        } catch {
            return Attempt(outcome: .refused(.notTakenOver(from: key.text, .invalid(error))))
        }
    }

    private func convertInvalidValue(of key: KeyName) async -> ValueMove.Outcome {
        guard let setting = try? await core.session.fetch(key) else { return .waiting }
        guard let stored = setting.stored ?? setting.value,
            let attempt = convert(stored, of: key, if: .revision(setting.revision))
        else { return .done }
        if let outcome = attempt.outcome { return outcome }
        return await attempt.result()
    }

    private func moveToNewName(
        _ value: JSONValue, from former: KeyName, to key: KeyName, if tests: [Transaction.Condition.Test]
    ) -> Attempt {
        guard case .success(let codec) = resolved.codec else { return Attempt(outcome: .done) }
        var value = value
        do {
            if let converted = try codec.migrated(value) { value = converted }
            _ = try codec.decode(value)
        } catch {
            return Attempt(outcome: .refused(.notTakenOver(from: former.text, .invalid(error))))
        }
        let change = core.makeTransaction(
            [core.makeOperation(key, .set(value)), core.makeOperation(former, .delete)],
            if: [.setting(core.suite, key, .stored(false))] + tests.map { .setting(core.suite, former, $0) })
        return submit(change, from: former)
    }

    private func submit(_ change: PendingChange, from former: KeyName) -> Attempt {
        let waiter = Promise<WriteResult>()
        do {
            try core.session.enqueueInBackground(change, waiter: waiter, waitsWithoutTimeout: true)
        } catch {
            // The queue may have room later.
            if case .refused = error { return Attempt(outcome: .waiting) }
            return Attempt(outcome: .refused(.notTakenOver(from: former.text, DefaultsError(error))))
        }
        return Attempt {
            switch await waiter.value() {
            case .success: return .done
            case .failure(.refused(let problem)):
                // The daemon may accept the write later.
                if problem.allowsLaterSuccess { return .waiting }
                if problem.code == .preconditionFailed, !problem.failed.isEmpty { return .changed }
                return .refused(.notTakenOver(from: former.text, .refused(Refusal(problem))))
            case .failure, nil: return .waiting
            }
        }
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

extension ReplicaSetting {
    /// True if a value is probably stored under a former name. If the source is unknown, a default of the schema counts
    /// as stored.
    var seemsStored: Bool { value != nil && source != .default || source == .invalid }
}
