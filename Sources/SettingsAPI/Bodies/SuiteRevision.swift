public import SettingsModel

/// A suite and a revision of it or of its schema.
public struct SuiteRevision: Hashable, Sendable {
    /// The suite.
    public var suite: SuiteName
    /// The revision; zero if there is nothing to have one.
    public var revision: Revision

    /// A suite with a revision.
    public init(suite: SuiteName, revision: Revision) {
        self.suite = suite
        self.revision = revision
    }
}

extension SuiteRevision: JSONReadable, JSONWritable {
    /// Reads the two members.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(suite: try reader.required("suite"), revision: try reader.required("revision"))
    }

    /// Writes the two members.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("suite", suite)
        writer.member("revision", revision)
        writer.endObject()
    }

    /// Reads a map from suites to revisions.
    static func map(_ json: JSONValue) throws(BodyError) -> [SuiteRevision] {
        try BodyValue.map(json) { member throws(BodyError) in
            SuiteRevision(suite: try SuiteName(json: .string(member.name)), revision: try Revision(json: member.value))
        }
    }
}

extension JSONWriter {
    /// A map from suites to revisions.
    mutating func member(_ name: String, mapOf list: [SuiteRevision]) {
        self.name(name)
        beginObject()
        for entry in list { member(entry.suite.text, entry.revision) }
        endObject()
    }
}
