internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// Writing.
extension AdapterCore {
    /// What is done to a key.
    func operation(_ key: KeyName, _ action: Transaction.Operation.Action) -> Transaction.Operation {
        Transaction.Operation(suite: suite, key: key, action)
    }

    /// Stores JSON, or removes what is stored.
    ///
    /// - Parameter formerNames: those under which a value may be that was not taken over: with a removal it goes, too.
    func write(_ json: JSONValue?, to cell: KeyCell, formerNames: [KeyName] = []) throws(DefaultsError) {
        var operations = [operation(cell.name, json.map { .set($0) } ?? .delete)]
        if json == nil { operations += formerNames.map { operation($0, .delete) } }
        do throws(BackendError) {
            try session.inTurn(of: cell, orThrow: isReentered(cell.name)) { [operations] () throws(BackendError) in
                try session.commit(operations)
            }
        } catch {
            throw DefaultsError(error)
        }
    }

    /// Why a write from within another one to the same key is none.
    func isReentered(_ key: KeyName) -> BackendError {
        .refused(Problem(.invalidOperation, "\(key) of suite \(suite) is written while it is being written"))
    }

    /// Stores a value.
    func set<Value>(_ slot: Slot<Value>, to value: Value) throws(DefaultsError) {
        let json = try slot.encode(value)
        guard let cell = slot.cell else { return }
        try WaitingTime.sharing { () throws(DefaultsError) in
            settleRename(of: slot)
            try write(json, to: cell, formerNames: slot.rename?.openNames ?? [])
        }
    }

    /// Takes what is stored for a key away.
    func remove<Value>(_ slot: Slot<Value>) {
        guard let cell = slot.cell else { return }
        attempt(slot.key.name) { () throws(DefaultsError) in
            try WaitingTime.sharing { () throws(DefaultsError) in
                settleRename(of: slot)
                try write(nil, to: cell, formerNames: slot.rename?.openNames ?? [])
            }
        }
    }

    /// Stores a value if nothing is stored, which the server decides; says whether it did.
    func setIfAbsent(_ json: JSONValue?, to cell: KeyCell) throws(DefaultsError) -> Bool {
        guard let json else { return false }
        do throws(BackendError) {
            return try session.inTurn(of: cell, orThrow: isReentered(cell.name)) { () throws(BackendError) in
                do throws(BackendError) {
                    try session.commit(
                        [operation(cell.name, .set(json))], if: [.setting(suite, cell.name, .stored(false))],
                        else: .yielding)
                    return true
                } catch {
                    guard let current = error.current else { throw error }
                    if !current.isConcealed { session.change { $0.learn(current, fromRefusal: true) } }
                    return false
                }
            }
        } catch {
            throw DefaultsError(error)
        }
    }

    /// Removes all stored values of the suite.
    func removeAll() throws(DefaultsError) {
        do throws(BackendError) {
            try session.removeAll()
        } catch {
            throw DefaultsError(error)
        }
    }

    /// Does what a setter does: what fails is reported, as it cannot be thrown. What is kept has not failed.
    func attempt(_ key: String?, _ body: () throws(DefaultsError) -> Void) {
        do {
            try body()
        } catch {
            if case .kept = error { return }
            report(error, key, .write)
        }
    }
}

extension BackendError {
    /// What is there instead of what a condition asked for.
    var current: SettingState? {
        guard case .refused(let problem) = self, problem.code == .preconditionFailed,
            case .setting(let setting)? = problem.failed.first?.current
        else { return nil }
        return setting
    }
}
