internal import SettingsAPI
public import SettingsKeys

// Reading and restoring the past. Each call sends a request, because the replica contains only the present values.

extension KeyedAccess {
    /// Returns the effective value of a key at a moment in the past. Ignores the arguments of the program, which may
    /// give a key another value.
    ///
    /// Throws if the history of the daemon does not reach back to the moment, or if the stored value was not a valid
    /// value of the key.
    ///
    /// - Parameters:
    ///   - path: the path of the key.
    ///   - moment: the moment in the past.
    public nonisolated(nonsending) func value<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, at moment: DefaultsMoment
    ) async throws(DefaultsError) -> Value {
        try await reference(path).readValue(at: moment)
    }

    /// Returns the value that a key had at a moment in the past.
    public nonisolated(nonsending) func value<Value>(
        key: DefaultsKey<Value>, at moment: DefaultsMoment
    ) async throws(DefaultsError) -> Value {
        try await reference(key: key).readValue(at: moment)
    }
}

// A key may have the name of a method in the next two extensions. A key is a dynamic member, and the compiler does not
// prefer a declared member to a dynamic member if the extension has a `where` clause.
extension KeyedAccess where KeyStore: DefaultsKeyStore {
    /// Returns the changes of a key that the history of the daemon contains, the newest change first. Includes the
    /// changes under former names of the key.
    ///
    ///     for change in try await Defaults.history(of: \.theme) { print(change.time, change.newValue as Any) }
    ///
    /// - Parameters:
    ///   - path: the path of the key.
    ///   - limit: the maximum number of commits to read.
    public nonisolated(nonsending) func history<Value>(
        of path: KeyPath<KeyStore, DefaultsKey<Value>>, limit: Int = 50
    ) async throws(DefaultsError) -> [DefaultsChange<Value>] {
        try await reference(path).history(limit: limit)
    }

    /// Returns the changes of a key, the newest change first.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - limit: the maximum number of commits to read.
    public nonisolated(nonsending) func history<Value>(
        key: DefaultsKey<Value>, limit: Int = 50
    ) async throws(DefaultsError) -> [DefaultsChange<Value>] {
        try await reference(key: key).history(limit: limit)
    }

    /// Stores the value that was stored for a key at a moment in the past. If no value was stored, removes the present
    /// value. Throws if the schema does not allow the value any more. Returns the changes.
    ///
    /// - Parameters:
    ///   - path: the path of the key.
    ///   - moment: the moment in the past.
    ///   - note: the reason, which the history contains: at most 256 bytes of UTF-8.
    @discardableResult
    public nonisolated(nonsending) func restore<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, to moment: DefaultsMoment, note: String? = nil
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        try await reference(path).restore(to: moment, note)
    }

    /// Stores the value that was stored for a key at a moment in the past. If no value was stored, removes the present
    /// value.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - moment: the moment in the past.
    ///   - note: the reason, which the history contains: at most 256 bytes of UTF-8.
    @discardableResult
    public nonisolated(nonsending) func restore<Value>(
        key: DefaultsKey<Value>, to moment: DefaultsMoment, note: String? = nil
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        try await reference(key: key).restore(to: moment, note)
    }
}

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// Returns the changes of the whole suite, the newest commit first.
    ///
    /// - Parameter limit: the maximum number of commits to read, including commits that set the schema.
    public nonisolated(nonsending) func history(
        limit: Int = 50
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        try await core.changes(of: [], limit: limit).map { DefaultsChange($0) }
    }

    /// Returns the differences between the states of the suite at two moments: one change for each key that differs, in
    /// the order of the keys.
    ///
    /// - Parameters:
    ///   - start: the first moment. It may be later than the second moment.
    ///   - end: the second moment. By default the present.
    public nonisolated(nonsending) func diff(
        from start: DefaultsMoment, to end: DefaultsMoment? = nil
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        let from = try start.requestMoment
        let to = try end?.requestMoment
        return try await core.difference(from: from, to: to).map { DefaultsChange($0) }
    }

    /// Reverts the changes that a commit made in this suite, in one new commit. Throws ``DefaultsError/refused(_:)``
    /// with the code `changedSince` if a later commit changed one of the keys. An undo can be undone, too. Returns the
    /// changes.
    ///
    /// - Parameters:
    ///   - revision: the revision of the commit.
    ///   - isForced: true to undo the commit even if a later commit changed one of the keys.
    ///   - note: the reason, which the history contains: at most 256 bytes of UTF-8.
    @discardableResult
    public nonisolated(nonsending) func undo(
        _ revision: Int64, isForced: Bool = false, note: String? = nil
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        let revision = try Revision(checking: revision)
        return try await core.sendDirectWrite(.undo(revision, in: core.suite, isForced: isForced, note: note))
    }

    /// Restores all stored values of the suite to a moment in the past, in one commit. The schema stays as it is.
    /// Throws an error that names each value that the schema does not allow any more. Returns the changes.
    ///
    /// - Parameters:
    ///   - moment: the moment in the past.
    ///   - note: the reason, which the history contains: at most 256 bytes of UTF-8.
    @discardableResult
    public nonisolated(nonsending) func restore(
        to moment: DefaultsMoment, note: String? = nil
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        let requestMoment = try moment.requestMoment
        return try await core.sendDirectWrite(.restore(core.suite, to: requestMoment, keys: nil, note: note))
    }
}
