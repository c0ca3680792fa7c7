internal import SettingsAPI
public import SettingsKeys

// The past, for async code. The server is asked each time, as the replica has only what is stored now. A key path may not
// leave its isolation, so each is resolved at once.

extension KeyedAccess {
    /// The value that a key had at a place in the past: as it would be read, but for the command line.
    ///
    /// Throws if the server does not know that place any more, or if what was stored is no value of the key.
    ///
    /// - Parameters:
    ///   - path: the path of the key.
    ///   - moment: the place in the past.
    public nonisolated(nonsending) func value<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, at moment: DefaultsMoment
    ) async throws(DefaultsError) -> Value {
        try await reference(path).readValue(at: moment)
    }

    /// The value that a key had at a place in the past.
    public nonisolated(nonsending) func value<Value>(
        key: DefaultsKey<Value>, at moment: DefaultsMoment
    ) async throws(DefaultsError) -> Value {
        try await reference(key: key).readValue(at: moment)
    }
}

// The members of these extensions hide no key.
extension KeyedAccess where KeyStore: DefaultsKeyStore {
    /// The changes of a key, the newest first, as far back as the server keeps them; also those under a former name.
    ///
    ///     for change in try await Defaults.history(of: \.theme) { print(change.time, change.newValue as Any) }
    ///
    /// - Parameters:
    ///   - path: the path of the key.
    ///   - limit: the most commits to look at.
    public nonisolated(nonsending) func history<Value>(
        of path: KeyPath<KeyStore, DefaultsKey<Value>>, limit: Int = 50
    ) async throws(DefaultsError) -> [DefaultsChange<Value>] {
        try await reference(path).history(limit: limit)
    }

    /// The changes of a key, the newest first.
    public nonisolated(nonsending) func history<Value>(
        key: DefaultsKey<Value>, limit: Int = 50
    ) async throws(DefaultsError) -> [DefaultsChange<Value>] {
        try await reference(key: key).history(limit: limit)
    }

    /// Stores what a key had stored at a place in the past, or removes what is stored now. Throws if the schema does not
    /// allow that value any more. Returns what changed.
    ///
    /// - Parameters:
    ///   - path: the path of the key.
    ///   - moment: the place in the past.
    ///   - note: the reason, which stands in the history: at most 256 bytes of UTF-8.
    @discardableResult
    public nonisolated(nonsending) func restore<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, to moment: DefaultsMoment, note: String? = nil
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        try await reference(path).restore(to: moment, note)
    }

    /// Stores what a key had stored at a place in the past, or removes what is stored now.
    @discardableResult
    public nonisolated(nonsending) func restore<Value>(
        key: DefaultsKey<Value>, to moment: DefaultsMoment, note: String? = nil
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        try await reference(key: key).restore(to: moment, note)
    }
}

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// The changes of the whole suite, the newest commit first.
    ///
    /// - Parameter limit: the most commits to look at; those of the schema count, too.
    public nonisolated(nonsending) func history(
        limit: Int = 50
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        try await core.changes(of: [], limit: limit).map { DefaultsChange($0) }
    }

    /// The net changes of the suite between two places in the past: one of each key that differs, ordered by key.
    ///
    /// - Parameters:
    ///   - start: the place to compare with; it may be the later one.
    ///   - end: the other place; without it, now.
    public nonisolated(nonsending) func diff(
        from start: DefaultsMoment, to end: DefaultsMoment? = nil
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        let from = try start.place
        let to = try end?.place
        return try await core.difference(from: from, to: to).map { DefaultsChange($0) }
    }

    /// Undoes what a commit did to this suite, in one commit. Throws ``DefaultsError/refused(_:)`` with the code
    /// `changedSince` if one of its keys was changed since. To undo an undo is to do it again. Returns what changed.
    ///
    /// - Parameters:
    ///   - revision: the commit.
    ///   - isForced: true to undo it though keys were changed since.
    ///   - note: the reason, which stands in the history: at most 256 bytes of UTF-8.
    @discardableResult
    public nonisolated(nonsending) func undo(
        _ revision: Int64, isForced: Bool = false, note: String? = nil
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        let revision = try Revision(checking: revision)
        return try await core.write(.undo(revision, in: core.suite, isForced: isForced, note: note))
    }

    /// Makes what the suite stores what it was at a place in the past, in one commit. The schema stays; throws if it does
    /// not allow one of the values any more, and names each of them. Returns what changed.
    ///
    /// - Parameters:
    ///   - moment: the place in the past.
    ///   - note: the reason, which stands in the history: at most 256 bytes of UTF-8.
    @discardableResult
    public nonisolated(nonsending) func restore(
        to moment: DefaultsMoment, note: String? = nil
    ) async throws(DefaultsError) -> [DefaultsChange<JSONValue>] {
        let place = try moment.place
        return try await core.write(.restore(core.suite, to: place, keys: nil, note: note))
    }
}
