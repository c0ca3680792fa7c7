public import SettingsModel

/// The description of a daemon.
public struct ServiceDescription: Equatable, Sendable {
    /// The version of the programs of this package.
    package static let programVersion = "1.0.0"

    /// A resource with the name of its relation.
    public struct Link: Equatable, Sendable {
        /// The relation, such as `suites`.
        public var name: String
        /// The path, or a template of the path.
        public var target: String

        package init(name: String, target: String) {
            self.name = name
            self.target = target
        }
    }

    /// The name of the program.
    public var name: String
    /// The version of the program.
    public var version: String
    /// The cursor of the published state.
    public var cursor: Cursor
    /// The resources.
    public var links: [Link]

    package init(name: String, version: String, cursor: Cursor, links: [Link]) {
        self.name = name
        self.version = version
        self.cursor = cursor
        self.links = links
    }
}

extension ServiceDescription: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            name: try reader.required("name"), version: try reader.required("version"),
            cursor: try reader.required("cursor"),
            links: try reader.optional("links") { json throws(BodyError) in
                try json.map { member throws(BodyError) in
                    Link(name: member.name, target: try String(json: member.value))
                }
            } ?? [])
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("version", version)
        writer.members(revisionAndCursor: cursor)
        writer.name("links")
        writer.beginObject()
        for link in links { writer.member(named: link.name, link.target) }
        writer.endObject()
    }
}

/// A page of the suites of a daemon.
public struct SuiteListing: Equatable, Sendable {
    /// One suite. The counts omit keys that the caller may not read.
    public struct Entry: Equatable, Sendable {
        /// The suite.
        public var suite: SuiteName
        /// The number of keys that have a stored value or that the schema lists.
        public var keyCount: Int64
        /// The number of keys with a stored value that the schema does not allow; 0 if an older daemon sent the
        /// listing.
        public var invalidCount: Int64
        /// The last commit that changed the suite or its schema.
        public var revision: Revision
        /// True if the suite has a schema.
        public var hasSchema: Bool
        /// True if the suite was dropped. The daemon still has commits of the suite, and `revision` is the last of
        /// them.
        public var isDropped: Bool

        package init(
            suite: SuiteName, keyCount: Int64, invalidCount: Int64, revision: Revision, hasSchema: Bool,
            isDropped: Bool = false
        ) {
            self.suite = suite
            self.keyCount = keyCount
            self.invalidCount = invalidCount
            self.revision = revision
            self.hasSchema = hasSchema
            self.isDropped = isDropped
        }
    }

    /// The suites, ordered by name.
    public var suites: [Entry]
    /// The last commit of the daemon.
    public var revision: Revision
    /// The value of the query parameter `after` in the request for the next page; nil if this page is the last.
    public var next: SuiteName?

    package init(suites: [Entry], revision: Revision, next: SuiteName? = nil) {
        self.suites = suites
        self.revision = revision
        self.next = next
    }
}

extension SuiteListing: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            suites: try reader.required("suites"), revision: try reader.required("revision"),
            next: try reader.optional("next"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("suites", suites)
        writer.member("revision", revision)
        writer.member("next", next)
    }
}

extension SuiteListing.Entry: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            suite: try reader.required("suite"), keyCount: try reader.required("keyCount"),
            invalidCount: try reader.optional("invalidCount") ?? 0, revision: try reader.required("revision"),
            hasSchema: try reader.required("hasSchema"), isDropped: try reader.optional("dropped") ?? false)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("suite", suite)
        writer.member("keyCount", keyCount)
        writer.member("invalidCount", invalidCount)
        writer.member("revision", revision)
        writer.member("hasSchema", hasSchema)
        if isDropped { writer.member("dropped", true) }
    }
}

/// A page of the settings of a suite.
public struct KeyListing: Equatable, Sendable {
    /// One key.
    public struct Entry: Equatable, Sendable {
        /// The setting.
        public var setting: SettingState
        /// The schema of the key; nil if there is none.
        public var schema: JSONValue?
        /// True if the caller has the right `write` for the key, the schema allows the key, and the key is not locked.
        public var isWritable: Bool

        package init(setting: SettingState, schema: JSONValue?, isWritable: Bool) {
            self.setting = setting
            self.schema = schema
            self.isWritable = isWritable
        }
    }

    /// The suite.
    public var suite: SuiteName
    /// The last commit that changed the suite or its schema.
    public var revision: Revision
    /// The keys, ordered by name.
    public var keys: [Entry]
    /// The value of the query parameter `after` in the request for the next page; nil if this page is the last.
    public var next: KeyName?

    package init(suite: SuiteName, revision: Revision, keys: [Entry], next: KeyName? = nil) {
        self.suite = suite
        self.revision = revision
        self.keys = keys
        self.next = next
    }
}

extension KeyListing: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            suite: try reader.required("suite"), revision: try reader.required("revision"),
            keys: try reader.required("keys"), next: try reader.optional("next"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("suite", suite)
        writer.member("revision", revision)
        writer.member("keys", keys)
        writer.member("next", next)
    }
}

extension KeyListing.Entry: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            setting: try SettingState(reader), schema: try reader.optional("schema"),
            isWritable: try reader.required("writable"))
    }

    /// Writes the members of the setting and the two members of the listing.
    package func writeMembers(to writer: inout JSONWriter) {
        setting.writeMembers(to: &writer)
        writer.member("schema", schema)
        writer.member("writable", isWritable)
    }
}
