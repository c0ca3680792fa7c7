public import SettingsModel

extension Violation: JSONReadable, JSONWritable {
    /// Reads one violation; ignores members it does not know.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            suite: try reader.optional("suite"), key: try reader.optional("key"),
            pointer: try reader.optional("pointer") ?? .root, keyword: try reader.required("keyword"),
            detail: try reader.required("detail"), expected: try reader.optional("expected"),
            actual: try reader.optional("actual"))
    }

    /// Writes the violation; what it does not say is left out.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("suite", suite)
        writer.member("key", key)
        writer.member("pointer", pointer)
        writer.member("keyword", keyword)
        writer.member("detail", detail)
        writer.member("expected", expected)
        writer.member("actual", actual)
        writer.endObject()
    }
}

extension JSONPointer: JSONReadable, JSONWritable {
    /// Reads a string in the text form of RFC 6901.
    public init(json: JSONValue) throws(BodyError) {
        guard let pointer = JSONPointer(try BodyValue.string(json)) else {
            throw BodyError("expected a JSON Pointer such as /player/volume, found another string")
        }
        self = pointer
    }

    /// Writes the text form as a string.
    public func write(to writer: inout JSONWriter) {
        writer.write(string: description)
    }
}
