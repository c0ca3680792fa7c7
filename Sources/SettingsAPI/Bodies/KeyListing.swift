public import SettingsModel

/// The keys of a suite with all that is known of each, or a page of them.
public struct KeyListing: Hashable, Sendable {
    /// One key.
    public struct Entry: Hashable, Sendable {
        /// The setting as it is.
        public var setting: SettingState
        /// What the schema says of the key; nil if it says nothing.
        public var schema: JSONValue?
        /// Whether the caller may write the key.
        public var isWritable: Bool

        /// An entry.
        public init(setting: SettingState, schema: JSONValue?, isWritable: Bool) {
            self.setting = setting
            self.schema = schema
            self.isWritable = isWritable
        }
    }

    /// The suite.
    public var suite: SuiteName
    /// The last commit of the suite, its schema included.
    public var revision: Revision
    /// The keys, ordered by name.
    public var keys: [Entry]
    /// Where the next page begins: what to ask for with `after`; nil if this is the last.
    public var next: KeyName?

    /// A listing.
    public init(suite: SuiteName, revision: Revision, keys: [Entry], next: KeyName? = nil) {
        self.suite = suite
        self.revision = revision
        self.keys = keys
        self.next = next
    }
}

extension KeyListing: JSONReadable, JSONWritable {
    /// Reads an answer; ignores members it does not know.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            suite: try reader.required("suite"), revision: try reader.required("revision"),
            keys: try reader.required("keys"), next: try reader.optional("next"))
    }

    /// Writes the listing.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("suite", suite)
        writer.member("revision", revision)
        writer.member("keys", keys)
        writer.member("next", next)
        writer.endObject()
    }
}

extension KeyListing.Entry: JSONReadable, JSONWritable {
    /// Reads one key of the listing.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            setting: try SettingState(json: json), schema: try reader.optional("schema"),
            isWritable: try reader.required("writable"))
    }

    /// Writes one key of the listing: the setting with two more members.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        setting.writeMembers(to: &writer)
        writer.member("schema", schema)
        writer.member("writable", isWritable)
        writer.endObject()
    }
}
