internal import HTTPWire
public import SettingsAPI
public import SettingsModel

extension Endpoint where Output == Answer<SettingState> {
    /// Stores a value, `null` too.
    public static func set(
        _ key: KeyName, to value: JSONValue, in suite: SuiteName, _ options: WriteOptions = .plain
    ) -> Endpoint {
        .write(Request(.put, .key(key, suite), body: value.bytes()), options)
    }

    /// Changes the effective value in place, in one step.
    public static func change(
        _ key: KeyName, by operation: InPlaceOperation, in suite: SuiteName, _ options: WriteOptions = .plain
    ) -> Endpoint {
        .write(Request(.patch, .key(key, suite), body: operation.jsonBytes()), options)
    }

    /// Removes the stored value: back to the default. Succeeds also if there is none.
    public static func remove(
        _ key: KeyName, in suite: SuiteName, _ options: WriteOptions = .plain
    ) -> Endpoint {
        .write(Request(.delete, .key(key, suite)), options)
    }
}

extension Endpoint where Output == Answer<WriteSummary> {
    /// Sets what is named. `null` removes a stored value; an object is merged into one that is there.
    public static func merge(
        _ values: JSONObject, into suite: SuiteName, _ options: WriteOptions = .plain
    ) -> Endpoint {
        .write(Request(.patch, .suite(suite), body: JSONValue.object(values).bytes()), options)
    }

    /// Makes what is stored exactly this; `null` is a value.
    public static func replace(
        _ suite: SuiteName, with values: JSONObject, _ options: WriteOptions = .plain
    ) -> Endpoint {
        .write(Request(.put, .suite(suite), body: JSONValue.object(values).bytes()), options)
    }

    /// Removes all stored values, or those of keys that begin with a prefix.
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
    public static func setSchema(
        _ document: JSONValue, of suite: SuiteName, onConflict policy: ConflictPolicy = .refuse,
        _ options: WriteOptions = .plain
    ) -> Endpoint {
        let target = RequestTarget.schema(suite).with("onConflict", policy == .refuse ? nil : policy.rawValue)
        return .write(Request(.put, target, body: document.bytes()), options)
    }

    /// Removes the schema: an open suite is left.
    public static func removeSchema(of suite: SuiteName, _ options: WriteOptions = .plain) -> Endpoint {
        .write(Request(.delete, .schema(suite)), options)
    }

    /// Commits several operations under one revision, or none of them.
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
            // A line end would begin another field.
            let plain = note.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : String($0) }
                .joined()
            request.fields.append("Settings-Note", text: plain)
        }
        if let key = options.requestKey { request.fields.append("Idempotency-Key", text: key.text) }
        return Endpoint(request) { reply throws(SettingsError) in try reply.answer() }
    }
}

/// The conditions of a write, and how it is done.
public struct WriteOptions: Equatable, Sendable {
    /// Only if what is written is still at this revision, or with `any`, if it is stored.
    public var ifMatch: EntityTagPattern?
    /// Only if it is not, or with `any`, if nothing is stored.
    public var ifNoneMatch: EntityTagPattern?
    /// Answer what would be done, and do nothing.
    public var isDryRun: Bool
    /// Write keys that the schema locks. Of a schema, nothing is locked: there it is refused.
    public var overridesLocks: Bool
    /// Names the write, so that it is done once however often it is sent: see `RequestKey.unique()`. A write that has
    /// one is sent again when the connection ends before anything of an answer came.
    public var requestKey: RequestKey?
    /// The reason for the write, which stands in its commit: up to 256 bytes of UTF-8.
    public var note: String?

    /// Makes options; a write without any is sent as it is.
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

    /// No conditions.
    public static let plain = WriteOptions()

    /// Only if nothing was written since this revision.
    public static func ifUnchanged(since revision: Revision) -> WriteOptions {
        WriteOptions(ifMatch: .tag(EntityTag(revision)))
    }

    /// Only if nothing is stored.
    public static let ifAbsent = WriteOptions(ifNoneMatch: .any)

    /// Returns the options with a key, so that the write can be repeated.
    public func repeatable(as key: RequestKey = .unique()) -> WriteOptions {
        var options = self
        options.requestKey = key
        return options
    }
}
