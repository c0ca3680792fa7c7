public import SettingsModel

/// The contents of a suite for one caller: the values that the caller may read, and the keys whose values are not
/// shown.
public struct SuiteContents: Equatable, Sendable {
    /// A key with its value.
    public struct Entry: Equatable, Sendable {
        /// The key.
        public var key: KeyName
        /// The effective value, unless the request selected the stored values or the defaults.
        public var value: JSONValue

        package init(key: KeyName, value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    /// The suite.
    public var suite: SuiteName
    /// The last commit that set or removed the schema; zero if there is none.
    public var schemaRevision: Revision
    /// The values, ordered by key: the effective values, unless the request selected the stored values or the defaults.
    public var values: [Entry]
    /// The keys whose stored value the schema does not allow.
    public var invalid: [SchemaConflict]
    /// The secrets that this caller may not read.
    public var secrets: [KeyName]
    /// The violations of the rules about the suite as a whole.
    public var violations: [Violation]

    /// The JSON form keeps the order of `values`, `invalid` and `secrets`, which should be the order of the keys.
    package init(
        suite: SuiteName, schemaRevision: Revision, values: [Entry], invalid: [SchemaConflict] = [],
        secrets: [KeyName] = [], violations: [Violation] = []
    ) {
        self.suite = suite
        self.schemaRevision = schemaRevision
        self.values = values
        self.invalid = invalid
        self.secrets = secrets
        self.violations = violations
    }
}

extension SuiteContents {
    /// The effective value of a key; nil if the contents do not show the value.
    public subscript(key: KeyName) -> JSONValue? {
        values.first { $0.key == key }?.value
    }

    /// The effective value of the key with a name; nil if the contents do not show the value.
    public subscript(name: String) -> JSONValue? {
        values.first { $0.key.text.hasSameBytes(as: name) }?.value
    }
}

/// The parts of the contents, which bodies for one suite and bodies for several suites write in different positions.
extension SuiteContents {
    static func entries(_ json: JSONValue) throws(BodyError) -> [Entry] {
        try json.map { member throws(BodyError) in
            Entry(key: try KeyName(json: .string(member.name)), value: member.value)
        }
    }

    static func conflicts(_ json: JSONValue) throws(BodyError) -> [SchemaConflict] {
        try json.map { member throws(BodyError) in
            try SchemaConflict(json: member.value, ofKey: KeyName(json: .string(member.name)))
        }
    }

    func writeValues(to writer: inout JSONWriter) {
        writer.beginObject()
        for entry in values { writer.member(named: entry.key.text, entry.value) }
        writer.endObject()
    }

    func writeInvalid(to writer: inout JSONWriter) {
        writer.beginObject()
        for conflict in invalid {
            guard let key = conflict.key else { continue }
            writer.name(key.text)
            writer.beginObject()
            conflict.writeReason(to: &writer)
            writer.endObject()
        }
        writer.endObject()
    }
}

/// The members that all bodies for one suite have in common.
extension SuiteContents {
    init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            suite: try reader.required("suite"), schemaRevision: try reader.required("schemaRevision"),
            values: try reader.required("values", Self.entries),
            invalid: try reader.optional("invalid", Self.conflicts) ?? [], secrets: try reader.list("secrets"),
            violations: try reader.list("violations"))
    }

    /// Writes the members except `suite` and `schemaRevision`, which the calling code writes before.
    func writeMembers(to writer: inout JSONWriter) {
        writer.name("values")
        writeValues(to: &writer)
        if !invalid.isEmpty {
            writer.name("invalid")
            writeInvalid(to: &writer)
        }
        writer.member("secrets", unlessEmpty: secrets)
        writer.member("violations", unlessEmpty: violations)
    }
}

/// A suite in the answer to a read.
public struct SuiteState: Equatable, Sendable {
    /// The contents.
    public var contents: SuiteContents
    /// The last commit that changed the suite or its schema.
    public var revision: Revision
    /// The cursor of the state, from which a client can watch.
    public var cursor: Cursor

    package init(contents: SuiteContents, revision: Revision, cursor: Cursor) {
        self.contents = contents
        self.revision = revision
        self.cursor = cursor
    }
}

extension SuiteState {
    /// The effective value of a key; nil if the contents do not show the value.
    public subscript(key: KeyName) -> JSONValue? {
        contents[key]
    }

    /// The effective value of the key with a name; nil if the contents do not show the value.
    public subscript(name: String) -> JSONValue? {
        contents[name]
    }
}

extension SuiteState: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            contents: try SuiteContents(reader), revision: try reader.required("revision"),
            cursor: try reader.required("cursor"))
    }

    package func write(to writer: inout JSONWriter) {
        writeHead(to: &writer)
        contents.writeMembers(to: &writer)
        writer.endObject()
    }

    /// Returns the beginning of the JSON form, up to and including the cursor. The text after the cursor depends only
    /// on the contents.
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
