import SettingsHTTP

/// The stored values of a suite at a revision. With ``unchangedCondition``, a write fails if the suite has changed
/// after this revision.
struct StoredSuite {
    let suite: SuiteName
    /// Zero for a suite that does not exist.
    let revision: Revision
    /// The stored values ordered by key, including values that the schema does not allow.
    let settings: [StoredSetting]
    /// Secrets that the caller may not read.
    let secrets: [KeyName]

    /// Reads the stored values of a suite.
    init(_ suite: SuiteName, from client: DaemonClient) throws(SettingsError) {
        self.suite = suite
        do throws(SettingsError) {
            let state = try client.blocking.send(.suite(suite, view: .stored))
            let invalid = state.contents.invalid.compactMap { conflict in
                conflict.key.flatMap { key in conflict.stored.map { StoredSetting(key: key, value: $0) } }
            }
            revision = state.revision
            settings = (state.contents.values.map { StoredSetting(key: $0.key, value: $0.value) } + invalid)
                .sorted { $0.key < $1.key }
            secrets = state.contents.secrets
        } catch {
            guard error.code == .unknownSuite else { throw error }
            (revision, settings, secrets) = (.zero, [], [])
        }
    }

    /// Returns the operations except the operations that set a key to its present value. The values of the result are
    /// normalized in the same way as by the daemon, for example `1.0` to `1` for an integer key.
    ///
    /// An operation that sets the present value must not be sent: the daemon refuses every write of a locked key, and
    /// every value that the schema does not allow, even if the key already has this value.
    func changingOperations(
        of operations: [Transaction.Operation], under schema: Schema?
    ) -> [Transaction.Operation] {
        let old = JSONObject(settings)
        return operations.compactMap { operation in
            guard case .set(let value) = operation.action else { return operation }
            let key = schema?.key(operation.key.text)
            let normalized = key?.normalized(value) ?? value
            // For a locked key without a stored value, the default counts as the present value, because without
            // `--override` the daemon refuses to store even the default. For another key, storing the default is a
            // change.
            let present = old[operation.key.text] ?? (key?.isLocked ?? false ? key?.defaultValue : nil)
            guard present != value, present != normalized else { return nil }
            return Transaction.Operation(suite: suite, key: operation.key, .set(normalized))
        }
    }

    /// The condition that the suite is still at ``revision``.
    var unchangedCondition: Transaction.Condition { .suite(suite, revision) }

    /// Returns operations after which the suite stores exactly the wanted settings. The secrets that the caller may not
    /// read stay stored, too.
    ///
    /// - Parameter keepsOthers: true to keep the stored settings that are not among the wanted settings.
    func operations(toStore wanted: [StoredSetting], keepsOthers: Bool = false) -> [Transaction.Operation] {
        let (old, new) = (JSONObject(settings), JSONObject(wanted))
        let removed = keepsOthers ? [] : settings.filter { new[$0.key.text] == nil }
        return wanted.filter { old[$0.key.text] != $0.value }
            .map { Transaction.Operation(suite: suite, key: $0.key, .set($0.value)) }
            + removed.map { Transaction.Operation(suite: suite, key: $0.key, .delete) }
    }
}
