internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// Where the taking over of a renamed key's value stands.
final class RenameProgress: Sendable {
    enum Standing: UInt8 {
        /// Not looked at yet, or to be looked at again.
        case open
        /// Nobody answered; it is open again when somebody does.
        case waiting
        /// There is nothing more to do.
        case settled
    }

    let migration: RenameMigration
    private let standing = Atomic(Standing.open.rawValue)

    init(_ migration: RenameMigration) {
        self.migration = migration
    }

    var isOpen: Bool { standing.load(ordering: .acquiring) == Standing.open.rawValue }
    var isWaiting: Bool { standing.load(ordering: .acquiring) == Standing.waiting.rawValue }
    var isSettled: Bool { standing.load(ordering: .acquiring) == Standing.settled.rawValue }

    /// The former names, as long as there may be something to take over.
    var openNames: [KeyName] { isSettled ? [] : migration.formerNames }

    func become(_ standing: Standing) {
        self.standing.store(standing.rawValue, ordering: .releasing)
    }
}

/// Taking values over from the names that keys had before: once, in one transaction that of several programs one does.
extension AdapterCore {
    /// Does it before something is written or asked, which is then about the value that was taken over.
    func settleRename<Value>(of slot: Slot<Value>) {
        guard let rename = slot.rename, rename.isOpen, (try? load()) != nil else { return }
        takeOver(for: slot)
    }

    /// Takes the value over unless that was done. The suite is loaded.
    func takeOver<Value>(for slot: Slot<Value>) {
        guard let rename = slot.rename, rename.isOpen, let cell = slot.cell else { return }
        let reason = try? session.inTurn(of: cell, orThrow: isReentered(cell.name)) {
            () throws(BackendError) -> DefaultsError? in
            for _ in 0..<Self.mostAttempts where rename.isOpen {
                switch attempt(slot, cell, rename) {
                case .again: continue
                case .become(let standing): rename.become(standing)
                case .leave(let reason):
                    rename.become(.settled)
                    return reason
                }
            }
            // Somebody changes it all the time: what is there is read, and taken over another time.
            if rename.isOpen { rename.become(.waiting) }
            return nil
        }
        if rename.isWaiting { session.whenConfirmed(cell.name) { rename.become(.open) } }
        // Whoever hears of it may read the key, so nothing is locked.
        if let reason { report(reason, slot.key.name, .read) }
    }

    private static var mostAttempts: Int { 100 }

    /// What an attempt came to.
    private enum Outcome {
        case become(RenameProgress.Standing)
        /// Something is not as it was known here.
        case again
        /// The old value stays where it is.
        case leave(DefaultsError)
    }

    private func attempt<Value>(_ slot: Slot<Value>, _ cell: KeyCell, _ rename: RenameProgress) -> Outcome {
        let source = rename.migration.source { name in
            name == cell.name ? session.visible(name).source?.isStored ?? false : maybeStored(name)
        }
        // What was known at an earlier time does not say what is not there.
        guard let former = source else { return .become(session.isStale ? .waiting : .settled) }
        let value: JSONValue
        let tests: [Transaction.Condition.Test]
        do {
            guard let found = try stored(former) else { return .become(.settled) }
            (value, tests) = found
        } catch {
            return .become(.waiting)
        }
        do {
            guard case .success(let codec) = slot.codec else { return .become(.settled) }
            _ = try codec.decode(value)
        } catch {
            return .leave(.notTakenOver(from: former.text, .invalid(error)))
        }
        let transaction = rename.migration.transaction(in: suite, from: former, value: value, while: tests)
        do {
            try session.commit(transaction.operations, if: transaction.conditions)
            return .become(.settled)
        } catch {
            return outcome(of: error, from: former)
        }
    }

    private func outcome(of error: BackendError, from former: KeyName) -> Outcome {
        guard case .refused(let problem) = error else { return .become(.waiting) }
        if problem.code == .preconditionFailed, !problem.failed.isEmpty {
            session.learn(problem)
            return .again
        }
        return .leave(.notTakenOver(from: former.text, .refused(problem)))
    }

    /// Whether something seems to be stored under a former name; a default of the schema may look the same.
    func maybeStored(_ name: KeyName) -> Bool {
        let seen = session.visible(name)
        return seen.value != nil && seen.source != .default || seen.source == .invalid
    }

    /// What is stored under a former name, with what must still hold when it is taken over; nil if it cannot be had.
    private func stored(
        _ former: KeyName
    ) throws(BackendError) -> (value: JSONValue, tests: [Transaction.Condition.Test])? {
        let seen = session.visible(former)
        if let value = seen.value {
            return (value, [.stored(true), .value(value)])
        }
        // The schema does not allow what is there, so it was not told.
        let setting = try session.ask(for: former)
        return (setting.stored ?? setting.value).map { ($0, [.revision(setting.revision)]) }
    }

    /// Whether a value is stored rather than a default of the schema, which is not asked for while nobody answers.
    func seemsStored<Value>(_ seen: VisibleSetting, _ slot: Slot<Value>) -> Bool {
        if let source = seen.source { return source.isStored }
        guard let value = seen.value else { return false }
        let ownDefault = (try? slot.encode(slot.key.defaultValue)) ?? nil
        return ownDefault.map { !$0.isMathematicallyEqual(to: value) } ?? true
    }
}
