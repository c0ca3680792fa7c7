internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// The former names and the former type of a key, and the progress of moving its value to the new name and type.
///
/// The first reader of the key submits a transaction that stores the value under the new name and removes it under the old name,
/// on the condition that no other program has done either. So of several programs that start together one succeeds, and
/// the others find the new key stored.
final class RenameTakeover: Sendable {
    private enum Progress {
        /// Not tried yet, or to be tried again.
        case open
        /// The promise is fulfilled when the attempt ends.
        case running(Promise<Void>)
        /// The daemon did not answer. The takeover is open again when the daemon answers.
        case waiting
        /// There is nothing more to do, unless the schema changes.
        case refused(schema: Cursor?)
        case done
    }

    /// The former names, the latest first.
    let formerNames: [KeyName]
    private let progress = Mutex(Progress.open)

    /// Returns nil if the key has neither a former name nor a former type. Throws if a former name cannot be the name of a key.
    init?<Value>(of key: DefaultsKey<Value>) throws(NameError) {
        guard !key.traits.renamedFrom.isEmpty || key.hasMigration else { return nil }
        var names: [KeyName] = []
        for name in key.traits.renamedFrom { names.append(try KeyName(name)) }
        formerNames = names
    }

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

    /// Returns the attempt in progress. It is new if the caller has to move the value. Nil if there is nothing to do.
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

    /// The outcome of an attempt.
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
    /// Loads the suite for a question about a renamed key, so that the question is about the moved value.
    func loadForRename() {
        guard let rename = resolved.rename, rename.isOpen, let key = resolved.name else { return }
        let deadline = core.session.deadline
        if (try? core.load(for: key, until: deadline)) != nil { takeOver(until: deadline) }
    }

    /// More attempts than programs move the same value at a time.
    private static var mostAttempts: Int { 100 }

    /// Moves the value, and blocks the calling thread until the daemon has answered.
    func takeOver(until deadline: ContinuousClock.Instant) {
        for _ in 0..<Self.mostAttempts {
            guard core.session.isLoaded, !ClientThread.shared.isCurrent, let attempt = takeOver(),
                core.session.isWorthWaiting,
                attempt.wait(until: deadline) != nil
            else { return }
        }
    }

    /// Moves the value, and waits without blocking a thread until the daemon has answered.
    nonisolated(nonsending) func takeOverAndWait() async {
        let deadline = core.session.deadline
        for _ in 0..<Self.mostAttempts {
            guard let attempt = takeOver(), await attempt.value(until: deadline) != nil else { return }
        }
    }

    /// Submits the transaction that moves the value, unless that was done. The suite is loaded. Returns a promise that is
    /// fulfilled when the daemon has answered. Returns nil if there is nothing to do.
    @discardableResult
    func takeOver() -> Promise<Void>? {
        guard let rename = resolved.rename, let key = resolved.name else { return nil }
        let schema = core.session.schema
        guard let (promise, isNew) = rename.begin(under: schema) else { return nil }
        guard isNew else { return promise }
        let attempt = attempt(rename, key)
        if let outcome = attempt.outcome {
            Self.finish(
                rename, outcome, under: schema, core.session, core.issues,
                DefaultsIssue.Subject(suite: core.suite, key: name))
            return nil
        }
        // The task may wait for a long outage, so it must not retain the adapter.
        core.session.startTask { [weak session = core.session, issues = core.issues, suite = core.suite, name] in
            let outcome = await attempt.result()
            Self.finish(rename, outcome, under: schema, session, issues, DefaultsIssue.Subject(suite: suite, key: name))
        }
        return promise
    }

    private static func finish(
        _ rename: RenameTakeover, _ outcome: RenameTakeover.Outcome, under schema: Cursor?, _ session: SuiteSession?,
        _ issues: IssueBoard, _ subject: DefaultsIssue.Subject
    ) {
        if case .refused(let reason) = outcome {
            issues.report(DefaultsIssue(suite: subject.suite, key: subject.key, attempt: .read, error: reason))
        }
        rename.end(outcome, under: schema)
        if case .waiting = outcome { session?.whenConfirmed { rename.reopen() } }
    }

    /// An attempt that has an outcome, or goes on without the caller.
    private struct Attempt {
        var outcome: RenameTakeover.Outcome?
        var result: @Sendable () async -> RenameTakeover.Outcome = { .done }
    }

    private func attempt(_ rename: RenameTakeover, _ key: KeyName) -> Attempt {
        let session = core.session
        let own = session.visible(key)
        if resolved.key.hasMigration {
            if let value = own.value, let attempt = convert(value, of: key, if: .value(value)) { return attempt }
            // The schema does not allow the stored value, so the state does not contain it.
            if own.source == .invalid { return Attempt { await convertInvalidValue(of: key) } }
        }
        let isStored = own.source?.isStored ?? false
        // A cached state does not tell whether a key is absent.
        guard !isStored, let former = rename.formerNames.first(where: core.maybeStored) else {
            return Attempt(outcome: session.isStale ? .waiting : .done)
        }
        if let seen = session.visible(former).value {
            return move(seen, from: former, to: key, if: [.stored(true), .value(seen)])
        }
        // The schema does not allow the stored value, so the state does not contain it.
        return Attempt {
            // The attempt may run long after the getter.
            guard let setting = try? await session.fetch(former) else { return .waiting }
            guard let stored = setting.stored ?? setting.value else { return .done }
            let attempt = move(stored, from: former, to: key, if: [.revision(setting.revision)])
            if let outcome = attempt.outcome { return outcome }
            return await attempt.result()
        }
    }

    /// Converts a value of the former type that is stored under the key's own name. Returns nil if there is nothing to convert.
    private func convert(
        _ value: JSONValue, of key: KeyName, if test: Transaction.Condition.Test
    ) -> Attempt? {
        guard case .success(let codec) = resolved.codec else { return nil }
        do {
            guard let converted = try codec.migrated(value) else { return nil }
            return submit(
                core.transaction([core.operation(key, .set(converted))], if: [.setting(core.suite, key, test)]),
                from: key)
        } catch {
            return Attempt(outcome: .refused(.notTakenOver(from: key.text, .invalid(error))))
        }
    }

    private func convertInvalidValue(of key: KeyName) async -> RenameTakeover.Outcome {
        guard let setting = try? await core.session.fetch(key) else { return .waiting }
        guard let stored = setting.stored ?? setting.value,
            let attempt = convert(stored, of: key, if: .revision(setting.revision))
        else { return .done }
        if let outcome = attempt.outcome { return outcome }
        return await attempt.result()
    }

    private func move(
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
        let change = core.transaction(
            [core.operation(key, .set(value)), core.operation(former, .delete)],
            if: [.setting(core.suite, key, .stored(false))] + tests.map { .setting(core.suite, former, $0) })
        return submit(change, from: former)
    }

    private func submit(_ change: PendingChange, from former: KeyName) -> Attempt {
        let waiter = Promise<WriteResult>()
        do {
            try core.session.enqueueInBackground(change, waiter: waiter, isPatient: true)
        } catch {
            // The queue may have room later.
            if case .refused = error { return Attempt(outcome: .waiting) }
            return Attempt(outcome: .refused(.notTakenOver(from: former.text, DefaultsError(error))))
        }
        return Attempt {
            switch await waiter.value() {
            case .success: return .done
            case .failure(.refused(let problem)):
                // The queue may have room later.
                if problem.allowsLaterSuccess { return .waiting }
                if problem.code == .preconditionFailed, !problem.failed.isEmpty { return .changed }
                return .refused(.notTakenOver(from: former.text, .refused(Refusal(problem))))
            case .failure, nil: return .waiting
            }
        }
    }

    /// The former name under which the key is read until its value is moved. Nil if the key's own name is read.
    func formerName(insteadOf seen: VisibleSetting) -> KeyName? {
        guard let names = resolved.rename?.openNames, !names.isEmpty, !seemsStored(seen) else { return nil }
        return names.first(where: core.maybeStored)
    }

    /// True if a value seems to be stored. A default of the schema may look the same, and the daemon is not asked.
    private func seemsStored(_ seen: VisibleSetting) -> Bool {
        if let source = seen.source { return source.isStored }
        guard let value = seen.value else { return false }
        guard case .success(let ownDefault?) = resolved.encoded(defaultValue) else { return true }
        return !ownDefault.isMathematicallyEqual(to: value)
    }
}

extension AdapterCore {
    /// True if a value seems to be stored under a former name. A default of the schema may look the same.
    fileprivate func maybeStored(_ name: KeyName) -> Bool {
        let seen = session.visible(name)
        return seen.value != nil && seen.source != .default || seen.source == .invalid
    }
}
