import SettingsHTTP

/// The stored values of a suite at a revision. A write can require that the suite is still at this revision.
struct StoredSuite {
    let suite: SuiteName
    /// Zero for a suite that does not exist.
    let revision: Revision
    /// Ordered by key; values that the schema does not allow are among them.
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

    /// Returns the operations without those that set the present value. The values are normalized as the daemon does
    /// it, for example `1.0` to `1` for an integer key.
    ///
    /// The daemon refuses to write a locked key, and a value that the schema does not allow, even if the key already
    /// has this value.
    func effectiveOperations(
        of operations: [Transaction.Operation], under schema: Schema?
    ) -> [Transaction.Operation] {
        let old = JSONObject(settings)
        return operations.compactMap { operation in
            guard case .set(let value) = operation.action else { return operation }
            let key = schema?.key(operation.key.text)
            let normalized = key?.normalized(value) ?? value
            let present = old[operation.key.text] ?? (key?.isLocked ?? false ? key?.defaultValue : nil)
            guard present != value, present != normalized else { return nil }
            return Transaction.Operation(suite: suite, key: operation.key, .set(normalized))
        }
    }

    /// The condition that the suite is at the revision that was read.
    var isUnchanged: Transaction.Condition { .suite(suite, revision) }

    /// The operations after which the suite stores exactly these settings, and the secrets that the caller may not
    /// read.
    ///
    /// - Parameter keepsOthers: true to remove no key.
    func operations(toStore wanted: [StoredSetting], keepsOthers: Bool = false) -> [Transaction.Operation] {
        let (old, new) = (JSONObject(settings), JSONObject(wanted))
        let removed = keepsOthers ? [] : settings.filter { new[$0.key.text] == nil }
        return wanted.filter { old[$0.key.text] != $0.value }
            .map { Transaction.Operation(suite: suite, key: $0.key, .set($0.value)) }
            + removed.map { Transaction.Operation(suite: suite, key: $0.key, .delete) }
    }
}
