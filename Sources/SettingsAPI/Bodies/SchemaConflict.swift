public import SettingsModel

/// What does not fit a schema, the one in force or one that is to be set: the value stored under a key, or the suite as a
/// whole.
public struct SchemaConflict: Hashable, Sendable {
    /// The key; nil if it is the suite as a whole.
    public var key: KeyName?
    /// What is stored; nil if that is a secret, or if nothing is.
    public var stored: JSONValue?
    /// Why it does not fit.
    public var errors: [Violation]

    /// A conflict.
    public init(key: KeyName?, stored: JSONValue?, errors: [Violation]) {
        self.key = key
        self.stored = stored
        self.errors = errors
    }
}

extension SchemaConflict: JSONReadable, JSONWritable {
    /// Reads an entry of a list, which names its key if it is about one.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        try self.init(reader, key: reader.optional("key"))
    }

    /// Reads what a map of keys has for one.
    init(json: JSONValue, ofKey key: KeyName) throws(BodyError) {
        try self.init(ObjectReader(json), key: key)
    }

    private init(_ reader: ObjectReader, key: KeyName?) throws(BodyError) {
        self.init(key: key, stored: try reader.optional("stored"), errors: try reader.list("errors"))
    }

    /// Writes an entry of a list.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("key", key)
        writeReason(to: &writer)
        writer.endObject()
    }

    /// Writes what stands for the key in a map.
    func writeReason(to writer: inout JSONWriter) {
        writer.member("stored", stored)
        writer.member("errors", errors)
    }
}
