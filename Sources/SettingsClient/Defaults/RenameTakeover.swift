internal import SettingsAPI
internal import SettingsKeys
internal import Synchronization

/// A renamed key's former names, and how far taking the value over from them has come.
///
/// The first reader of the key does it: in one transaction the value is stored under the new name and removed from the
/// old, on the condition that no other program has done either meanwhile. So of several programs that start together one
/// succeeds, the others find the new key stored, and none can bring an old value back later.
final class RenameTakeover: Sendable {
    private enum Progress: UInt8 {
        /// Not tried yet, or to be tried again.
        case open
        /// The server did not answer; it is open again when the server does.
        case waiting
        /// There is nothing more to do.
        case settled
    }

    /// The result of an attempt.
    fileprivate enum Outcome {
        case settled
        case waiting
        /// A setting is not as it was known here: to be tried again at once.
        case changed
        /// The old value stays where it is, for this reason.
        case left(DefaultsError)
    }

    /// The latest first.
    let formerNames: [KeyName]
    private let progress = Atomic(Progress.open.rawValue)

    /// Nil if the key was never renamed. Throws if one of the names cannot be a key's.
    init?(of key: some AnyDefaultsKey) throws(NameError) {
        guard !key.traits.renamedFrom.isEmpty else { return nil }
        var names: [KeyName] = []
        for name in key.traits.renamedFrom { names.append(try KeyName(name)) }
        formerNames = names
    }

    var isOpen: Bool { progress.load(ordering: .acquiring) == Progress.open.rawValue }
    private var isSettled: Bool { progress.load(ordering: .acquiring) == Progress.settled.rawValue }

    /// The former names, as long as there may be something to take over.
    var openNames: [KeyName] { isSettled ? [] : formerNames }

    private func become(_ new: Progress) {
        progress.store(new.rawValue, ordering: .releasing)
    }

    /// Makes attempts until one has a result. Returns the reason why a value was left under its former name.
    fileprivate func run(attempt: () -> Outcome) -> DefaultsError? {
        for _ in 0..<100 where isOpen {
            switch attempt() {
            case .changed: continue
            case .settled: become(.settled)
            case .waiting: become(.waiting)
            case .left(let reason):
                become(.settled)
                return reason
            }
        }
        // If other programs change it all the time, the old value is read, and taken over another time.
        if isOpen { become(.waiting) }
        return nil
    }

    /// Has it tried again once the server has confirmed what is known.
    fileprivate func retryIfWaiting(in session: SuiteSession, for key: KeyName) {
        if !isOpen, !isSettled { session.whenConfirmed(key) { self.become(.open) } }
    }
}

extension DefaultsReference {
    /// Takes the value over before a write or a question, which is then about the value that was taken over.
    func settleRename() {
        guard let rename = slot.rename, rename.isOpen, (try? core.load()) != nil else { return }
        takeOver()
    }

    /// Takes the value over unless that was done. The suite is loaded.
    func takeOver() {
        guard let rename = slot.rename, rename.isOpen, let cell = slot.cell else { return }
        let reason = try? cell.turn.take(orThrow: core.isReentered(cell.name)) {
            () throws(BackendError) in
            rename.run { attempt(rename, cell.name) }
        }
        rename.retryIfWaiting(in: core.session, for: cell.name)
        // The handler of issues may read the key, so this is not its turn any more.
        if let reason { report(reason, .read) }
    }

    private func attempt(_ rename: RenameTakeover, _ key: KeyName) -> RenameTakeover.Outcome {
        let session = core.session
        let isStored = session.visible(key).source?.isStored ?? false
        // What was known at an earlier time does not say what is not there.
        guard !isStored, let former = rename.formerNames.first(where: core.maybeStored) else {
            return session.isStale ? .waiting : .settled
        }
        guard case .success(let codec) = slot.codec else { return .settled }
        let value: JSONValue
        let tests: [Transaction.Condition.Test]
        if let seen = session.visible(former).value {
            (value, tests) = (seen, [.stored(true), .value(seen)])
        } else {
            // The schema does not allow what is there, so it was not told.
            guard let setting = try? session.ask(for: former) else { return .waiting }
            guard let stored = setting.stored ?? setting.value else { return .settled }
            (value, tests) = (stored, [.revision(setting.revision)])
        }
        do {
            _ = try codec.decode(value)
        } catch {
            return .left(.notTakenOver(from: former.text, .invalid(error)))
        }
        do {
            try session.commit(
                [core.operation(key, .set(value)), core.operation(former, .delete)],
                if: [.setting(core.suite, key, .stored(false))] + tests.map { .setting(core.suite, former, $0) })
            return .settled
        } catch {
            guard case .refused(let problem) = error else { return .waiting }
            guard problem.code == .preconditionFailed, !problem.failed.isEmpty else {
                return .left(.notTakenOver(from: former.text, DefaultsError(error)))
            }
            session.learn(problem)
            return .changed
        }
    }

    /// The former name whose value is read until it is taken over; nil if the key's own is.
    func formerName(insteadOf seen: VisibleSetting) -> KeyName? {
        guard let names = slot.rename?.openNames, !names.isEmpty, !seemsStored(seen) else { return nil }
        return names.first(where: core.maybeStored)
    }

    /// True if a value seems to be stored; a default of the schema may look the same, and the server is not asked.
    private func seemsStored(_ seen: VisibleSetting) -> Bool {
        if let source = seen.source { return source.isStored }
        guard let value = seen.value else { return false }
        guard case .success(let ownDefault?) = slot.encoded(defaultValue) else { return true }
        return !ownDefault.isMathematicallyEqual(to: value)
    }
}

extension AdapterCore {
    /// True if something seems to be stored under a former name; a default of the schema may look the same.
    fileprivate func maybeStored(_ name: KeyName) -> Bool {
        let seen = session.visible(name)
        return seen.value != nil && seen.source != .default || seen.source == .invalid
    }
}
