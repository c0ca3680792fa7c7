internal import HTTPWire
public import SettingsAPI
public import SettingsModel

extension Endpoint where Output == Answer<SettingState> {
    /// Stores a value. The value `null` is stored like any other value.
    public static func set(
        _ key: KeyName, to value: JSONValue, in suite: SuiteName, _ options: WriteOptions = .plain
    ) -> Endpoint {
        .write(Request(.put, .key(key, suite), body: value.bytes()), options)
    }

    /// Applies an operation, such as an addition, to the effective value, and stores the result. No other write can
    /// come between the read and the write of the value.
    public static func change(
        _ key: KeyName, by operation: InPlaceOperation, in suite: SuiteName, _ options: WriteOptions = .plain
    ) -> Endpoint {
        .write(Request(.patch, .key(key, suite), body: operation.jsonBytes()), options)
    }

    /// Removes the stored value, so that readers get the default. Succeeds even if no value is stored.
    public static func remove(
        _ key: KeyName, in suite: SuiteName, _ options: WriteOptions = .plain
    ) -> Endpoint {
        .write(Request(.delete, .key(key, suite)), options)
    }
}

extension Endpoint where Output == Answer<WriteSummary> {
    /// Stores the given values. Other keys keep their values. `null` removes a stored value, and an object is merged
    /// into the effective value.
    public static func merge(
        _ values: JSONObject, into suite: SuiteName, _ options: WriteOptions = .plain
    ) -> Endpoint {
        .write(Request(.patch, .suite(suite), body: JSONValue.object(values).bytes()), options)
    }

    /// Replaces all stored values by the given values. The value `null` is stored like any other value.
    public static func replace(
        _ suite: SuiteName, with values: JSONObject, _ options: WriteOptions = .plain
    ) -> Endpoint {
        .write(Request(.put, .suite(suite), body: JSONValue.object(values).bytes()), options)
    }

    /// Removes all stored values, or the stored values of all keys that begin with a prefix.
    public static func reset(
        _ suite: SuiteName, prefix: String? = nil, _ options: WriteOptions = .plain
    ) -> Endpoint {
        .write(Request(.delete, .suite(suite).with("prefix", prefix)), options)
    }

    /// Removes the suite with its values and its schema.
    public static func drop(_ suite: SuiteName, _ options: WriteOptions = .plain) -> Endpoint {
        .write(Request(.delete, .suite(suite).with(flag: "drop", true)), options)
    }

    /// Sets the schema of a suite.
    ///
    /// - Parameters:
    ///   - document: the schema.
    ///   - suite: the suite.
    ///   - policy: determines what happens to stored values that the schema does not allow.
    ///   - options: the conditions and other options of the write.
    public static func setSchema(
        _ document: JSONValue, of suite: SuiteName, onConflict policy: ConflictPolicy = .refuse,
        _ options: WriteOptions = .plain
    ) -> Endpoint {
        let target = RequestTarget.schema(suite).with("onConflict", policy == .refuse ? nil : policy.rawValue)
        return .write(Request(.put, target, body: document.bytes()), options)
    }

    /// Removes the schema. The suite then allows every key and every value.
    public static func removeSchema(of suite: SuiteName, _ options: WriteOptions = .plain) -> Endpoint {
        .write(Request(.delete, .schema(suite)), options)
    }

    /// Carries out all operations of a transaction in one commit. If one operation fails, nothing is stored.
    public static func commit(_ transaction: Transaction, _ options: WriteOptions = .plain) -> Endpoint {
        .write(Request(.post, RequestTarget("v1", "transaction"), body: transaction.jsonBytes()), options)
    }
}

extension Endpoint {
    static func write<Body: JSONReadable>(_ request: Request, _ options: WriteOptions) -> Endpoint
    where Output == Answer<Body> {
        var request = request
        request.target = request.target.with(flag: "dryRun", options.isDryRun)
            .with("override", options.overridesLocks ? "locked" : nil)
        if let tags = options.ifMatch { request.fields.append("If-Match", text: tags.description) }
        if let tags = options.ifNoneMatch { request.fields.append("If-None-Match", text: tags.description) }
        if let note = options.note {
            // The daemon refuses a note with a control character. `fields.append` replaces only the control characters
            // of ASCII, so this code replaces all control characters.
            let visibleNote = note.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : String($0) }
                .joined()
            request.fields.append("Settings-Note", text: visibleNote)
        }
        for (name, time) in options.deadlines { request.fields.append(name, text: time.text) }
        if let key = options.requestKey { request.fields.append("Idempotency-Key", text: key.text) }
        return Endpoint(request) { reply throws(SettingsError) in try reply.answer() }
    }
}

/// The conditions of a write, and other options.
public struct WriteOptions: Equatable, Sendable {
    /// The write takes effect only if its resource (a setting, a suite or a schema) has one of these revisions. `any`
    /// requires that the resource exists.
    public var ifMatch: EntityTagPattern?
    /// The write takes effect only if its resource has none of these revisions. `any` requires that the resource does
    /// not exist.
    public var ifNoneMatch: EntityTagPattern?
    /// True to get the answer that the write would get, without storing anything.
    public var isDryRun: Bool
    /// True to write keys that the schema locks. The daemon refuses this option for a write of a schema.
    public var overridesLocks: Bool
    /// The idempotency key. The daemon does a write with this key once, even if it receives the request several times.
    /// The client sends a write with a key again if the connection ends before the answer. See `RequestKey.unique()`.
    public var requestKey: RequestKey?
    /// The reason for the write, which the history contains: at most 256 bytes of UTF-8.
    public var note: String?

    /// The daemon reverts the write unless a client confirms it within this time.
    package var confirm: PendingTime?
    /// The daemon reverts the write at this time.
    package var until: PendingTime?
    /// The daemon carries out the write at this time. The answer is then a ``WriteSummary``, even for a write of one
    /// setting.
    package var effective: PendingTime?

    /// The header fields of the request for `confirm`, `until` and `effective`.
    fileprivate var deadlines: [(name: StaticString, time: PendingTime)] {
        let fields: [(StaticString, PendingTime?)] = [
            ("Settings-Confirm", confirm), ("Settings-Until", until), ("Settings-Effective", effective),
        ]
        return fields.compactMap { name, time in time.map { (name, $0) } }
    }

    /// True if the write has a deadline, so that the daemon creates a pending action for it.
    package var hasDeadline: Bool { !deadlines.isEmpty }

    /// Creates options. Without arguments, the write has no condition.
    ///
    /// - Parameters:
    ///   - ifMatch: do the write only if its resource has one of these revisions.
    ///   - ifNoneMatch: do the write only if its resource has none of these revisions.
    ///   - isDryRun: true to get the answer that the write would get, without storing anything.
    ///   - overridesLocks: true to write keys that the schema locks.
    ///   - requestKey: the idempotency key.
    ///   - note: the reason for the write, at most 256 bytes of UTF-8.
    public init(
        ifMatch: EntityTagPattern? = nil, ifNoneMatch: EntityTagPattern? = nil, isDryRun: Bool = false,
        overridesLocks: Bool = false, requestKey: RequestKey? = nil, note: String? = nil
    ) {
        self.ifMatch = ifMatch
        self.ifNoneMatch = ifNoneMatch
        self.isDryRun = isDryRun
        self.overridesLocks = overridesLocks
        self.requestKey = requestKey
        self.note = note
    }

    /// Options without conditions.
    public static let plain = WriteOptions()

    /// Options for a write that takes effect only if this is the revision of the last change of its resource. A later
    /// revision, such as the revision of a cursor, does not match.
    public static func ifUnchanged(since revision: Revision) -> WriteOptions {
        WriteOptions(ifMatch: .tag(EntityTag(revision)))
    }

    /// Options for a write that takes effect only if its resource does not exist.
    public static let ifAbsent = WriteOptions(ifNoneMatch: .any)

    /// Returns these options with an idempotency key, so that a repeated request does not do the write twice.
    public func repeatable(as key: RequestKey = .unique()) -> WriteOptions {
        var options = self
        options.requestKey = key
        return options
    }
}
