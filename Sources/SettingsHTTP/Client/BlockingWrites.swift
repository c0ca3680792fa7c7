public import SettingsAPI
public import SettingsModel

/// Writing, on the thread that calls.
extension SettingsClient.Blocking {
    /// Stores a value, `null` too.
    @discardableResult
    public func set(_ key: KeyName, to value: JSONValue, in suite: SuiteName, _ options: WriteOptions = .plain)
        throws(SettingsError) -> Answer<SettingState>
    {
        try send(.set(key, to: value, in: suite, options))
    }

    /// Changes the effective value in place, in one step that nobody can get between.
    @discardableResult
    public func change(
        _ key: KeyName, by operation: InPlaceOperation, in suite: SuiteName, _ options: WriteOptions = .plain
    ) throws(SettingsError) -> Answer<SettingState> {
        try send(.change(key, by: operation, in: suite, options))
    }

    /// Takes the stored value away: back to the default. Fine also if there is none.
    @discardableResult
    public func remove(_ key: KeyName, in suite: SuiteName, _ options: WriteOptions = .plain) throws(SettingsError)
        -> Answer<SettingState>
    {
        try send(.remove(key, in: suite, options))
    }

    /// Sets what is named. `null` takes a stored value away; an object is merged into one that is there.
    @discardableResult
    public func merge(_ values: JSONObject, into suite: SuiteName, _ options: WriteOptions = .plain)
        throws(SettingsError) -> Answer<WriteSummary>
    {
        try send(.merge(values, into: suite, options))
    }

    /// What is stored becomes exactly this; `null` is a value.
    @discardableResult
    public func replace(_ suite: SuiteName, with values: JSONObject, _ options: WriteOptions = .plain)
        throws(SettingsError) -> Answer<WriteSummary>
    {
        try send(.replace(suite, with: values, options))
    }

    /// Takes all stored values away, or those of keys that begin with a prefix.
    @discardableResult
    public func reset(_ suite: SuiteName, prefix: String? = nil, _ options: WriteOptions = .plain) throws(SettingsError)
        -> Answer<WriteSummary>
    {
        try send(.reset(suite, prefix: prefix, options))
    }

    /// Removes the suite with its values and its schema.
    @discardableResult
    public func drop(_ suite: SuiteName, _ options: WriteOptions = .plain) throws(SettingsError) -> Answer<WriteSummary>
    {
        try send(.drop(suite, options))
    }

    /// Says what the suite may hold from here on.
    @discardableResult
    public func setSchema(
        _ document: JSONValue, of suite: SuiteName, onConflict policy: ConflictPolicy = .refuse,
        _ options: WriteOptions = .plain
    ) throws(SettingsError) -> Answer<WriteSummary> {
        try send(.setSchema(document, of: suite, onConflict: policy, options))
    }

    /// Removes the schema: an open suite is left.
    @discardableResult
    public func removeSchema(of suite: SuiteName, _ options: WriteOptions = .plain) throws(SettingsError) -> Answer<
        WriteSummary
    > {
        try send(.removeSchema(of: suite, options))
    }

    /// Commits several operations under one revision, or none of them.
    @discardableResult
    public func commit(_ transaction: Transaction, _ options: WriteOptions = .plain) throws(SettingsError) -> Answer<
        WriteSummary
    > {
        try send(.commit(transaction, options))
    }
}
