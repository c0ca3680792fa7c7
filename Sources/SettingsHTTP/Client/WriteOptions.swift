public import SettingsAPI
internal import SettingsModel

/// What a write may demand and be told.
public struct WriteOptions: Hashable, Sendable {
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

    /// Nothing unless it is said.
    public init(
        ifMatch: EntityTagPattern? = nil, ifNoneMatch: EntityTagPattern? = nil, isDryRun: Bool = false,
        overridesLocks: Bool = false, requestKey: RequestKey? = nil
    ) {
        self.ifMatch = ifMatch
        self.ifNoneMatch = ifNoneMatch
        self.isDryRun = isDryRun
        self.overridesLocks = overridesLocks
        self.requestKey = requestKey
    }

    /// A write as it is.
    public static let plain = WriteOptions()

    /// Only if it is still at this revision: nobody has written in between.
    public static func ifUnchanged(since revision: Revision) -> WriteOptions {
        WriteOptions(ifMatch: .tag(EntityTag(revision)))
    }

    /// Only if nothing is stored.
    public static let ifAbsent = WriteOptions(ifNoneMatch: .any)

    /// The same under a key of its own, so that it can be repeated.
    public func repeatable(as key: RequestKey = .unique()) -> WriteOptions {
        var options = self
        options.requestKey = key
        return options
    }
}

extension WireRequest {
    /// The request with what the options add to it.
    func with(_ options: WriteOptions) -> WireRequest {
        var request = self
        request.target = target.with(flag: "dryRun", options.isDryRun)
            .with("override", options.overridesLocks ? "locked" : nil)
        func add(_ name: String, _ value: String?) {
            if let value { request.fields.append(Field(name: name, value: value)) }
        }
        add("If-Match", options.ifMatch?.description)
        add("If-None-Match", options.ifNoneMatch?.description)
        add(Self.idempotencyKey, options.requestKey?.text)
        return request
    }
}
