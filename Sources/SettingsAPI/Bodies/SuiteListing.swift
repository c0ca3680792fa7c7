public import SettingsModel

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
