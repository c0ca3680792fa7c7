public import SettingsModel

/// What a daemon says of itself.
public struct ServiceDescription: Hashable, Sendable {
    /// A resource by the name of its relation.
    public struct Link: Hashable, Sendable {
        /// What the resource is, as `suites`.
        public var name: String
        /// Its path, or a template of it.
        public var target: String

        /// A link.
        public init(name: String, target: String) {
            self.name = name
            self.target = target
        }
    }

    /// The name of the program.
    public var name: String
    /// Its version.
    public var version: String
    /// The place in history.
    public var cursor: Cursor
    /// Where everything is.
    public var links: [Link]

    /// A description.
    public init(name: String, version: String, cursor: Cursor, links: [Link]) {
        self.name = name
        self.version = version
        self.cursor = cursor
        self.links = links
    }
}

extension ServiceDescription: JSONReadable, JSONWritable {
    /// Reads an answer; ignores members it does not know.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            name: try reader.required("name"), version: try reader.required("version"),
            cursor: try reader.required("cursor"),
            links: try reader.optional("links") { json throws(BodyError) in
                try BodyValue.map(json) { member throws(BodyError) in
                    Link(name: member.name, target: try BodyValue.string(member.value))
                }
            } ?? [])
    }

    /// Writes the description, the links as a map.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", name)
        writer.member("version", version)
        writer.member("revision", cursor.revision)
        writer.member("cursor", cursor)
        writer.name("links")
        writer.beginObject()
        for link in links { writer.member(link.name, link.target) }
        writer.endObject()
        writer.endObject()
    }
}

/// The suites that there are, or a page of them.
public struct SuiteListing: Hashable, Sendable {
    /// One suite.
    public struct Entry: Hashable, Sendable {
        /// The suite.
        public var suite: SuiteName
        /// How many keys have something stored or are described by its schema.
        public var keyCount: Int64
        /// The last commit of the suite, its schema included.
        public var revision: Revision
        /// Whether the suite has a schema.
        public var hasSchema: Bool

        /// An entry.
        public init(suite: SuiteName, keyCount: Int64, revision: Revision, hasSchema: Bool) {
            self.suite = suite
            self.keyCount = keyCount
            self.revision = revision
            self.hasSchema = hasSchema
        }
    }

    /// The suites, ordered by name.
    public var suites: [Entry]
    /// The last commit of all.
    public var revision: Revision
    /// Where the next page begins: what to ask for with `after`; nil if this is the last.
    public var next: SuiteName?

    /// A listing.
    public init(suites: [Entry], revision: Revision, next: SuiteName? = nil) {
        self.suites = suites
        self.revision = revision
        self.next = next
    }
}

extension SuiteListing: JSONReadable, JSONWritable {
    /// Reads an answer; ignores members it does not know.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            suites: try reader.required("suites"), revision: try reader.required("revision"),
            next: try reader.optional("next"))
    }

    /// Writes the listing.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("suites", suites)
        writer.member("revision", revision)
        writer.member("next", next)
        writer.endObject()
    }
}

extension SuiteListing.Entry: JSONReadable, JSONWritable {
    /// Reads one suite of the listing.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            suite: try reader.required("suite"), keyCount: try reader.required("keyCount"),
            revision: try reader.required("revision"), hasSchema: try reader.required("hasSchema"))
    }

    /// Writes one suite of the listing.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("suite", suite)
        writer.member("keyCount", keyCount)
        writer.member("revision", revision)
        writer.member("hasSchema", hasSchema)
        writer.endObject()
    }
}

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
