public import SettingsModel

/// What is forgotten of keys without a value when their suite is dropped: what it takes to show them as they were.
///
/// Keys with a value have a change of their own in the commit.
public struct ForgottenKeys: Hashable, Sendable {
    /// The revision of keys that are not told of: never written, or removed so long ago that it was forgotten before.
    public var floor: Revision
    /// Keys that had a revision of their own.
    public var keys: [Key]

    /// A key without a value.
    public struct Key: Hashable, Sendable {
        /// The key.
        public var key: KeyName
        /// The last commit that changed it.
        public var revision: Revision
        /// When that was made; nil if nobody knows.
        public var modified: Timestamp?

        /// A key without a value.
        public init(key: KeyName, revision: Revision, modified: Timestamp?) {
            self.key = key
            self.revision = revision
            self.modified = modified
        }
    }

    /// What is forgotten of keys.
    public init(floor: Revision, keys: [Key]) {
        self.floor = floor
        self.keys = keys
    }
}

extension ForgottenKeys: JSONReadable, JSONWritable {
    /// Reads what the journal keeps.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(floor: try reader.required("floor"), keys: try reader.list("keys"))
    }

    /// Writes what the journal keeps.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("floor", floor)
        writer.member("keys", unlessEmpty: keys)
        writer.endObject()
    }
}

extension ForgottenKeys.Key: JSONReadable, JSONWritable {
    /// Reads what the journal keeps of a key.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            key: try reader.required("key"), revision: try reader.required("revision"),
            modified: try reader.optional("modified"))
    }

    /// Writes what the journal keeps of a key.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("key", key)
        writer.member("revision", revision)
        writer.member("modified", modified)
        writer.endObject()
    }
}
