public import SettingsModel

/// A suite as a read of it answers.
public struct SuiteState: Hashable, Sendable {
    /// What is in the suite.
    public var contents: SuiteContents
    /// The last commit of the suite, its schema included.
    public var revision: Revision
    /// The place in history that this was read at: where to observe from.
    public var cursor: Cursor

    /// The state of a suite.
    public init(contents: SuiteContents, revision: Revision, cursor: Cursor) {
        self.contents = contents
        self.revision = revision
        self.cursor = cursor
    }
}

extension SuiteState {
    /// The effective value of a key; nil if the suite shows none.
    public subscript(key: KeyName) -> JSONValue? {
        contents[key]
    }

    /// The effective value of the key of this name; nil if the suite shows none.
    public subscript(name: String) -> JSONValue? {
        contents[name]
    }
}

extension SuiteState: JSONReadable, JSONWritable {
    /// Reads an answer; ignores members it does not know.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            contents: try SuiteContents(reader), revision: try reader.required("revision"),
            cursor: try reader.required("cursor"))
    }

    /// Writes the suite with all its values.
    public func write(to writer: inout JSONWriter) {
        writeHead(to: &writer)
        contents.writeMembers(to: &writer)
        writer.endObject()
    }

    /// Returns the beginning of the JSON form, up to the cursor. What follows depends on the contents alone.
    package func headBytes() -> [UInt8] {
        var writer = JSONWriter()
        writeHead(to: &writer)
        return writer.bytes
    }

    private func writeHead(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("suite", contents.suite)
        writer.member("revision", revision)
        writer.member("schemaRevision", contents.schemaRevision)
        writer.member("cursor", cursor)
    }
}
