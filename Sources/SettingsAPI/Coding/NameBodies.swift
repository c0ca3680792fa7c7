public import SettingsModel

extension KeyName: JSONReadable, JSONWritable {
    /// Reads a string that is such a name.
    public init(json: JSONValue) throws(BodyError) {
        self = try BodyValue.name(json) { text throws(NameError) in try KeyName(text) }
    }

    /// Writes the name as a string.
    public func write(to writer: inout JSONWriter) {
        writer.write(string: text)
    }
}

extension SuiteName: JSONReadable, JSONWritable {
    /// Reads a string that is such a name.
    public init(json: JSONValue) throws(BodyError) {
        self = try BodyValue.name(json) { text throws(NameError) in try SuiteName(text) }
    }

    /// Writes the name as a string.
    public func write(to writer: inout JSONWriter) {
        writer.write(string: text)
    }
}

extension BodyError {
    init(_ error: NameError) {
        self.init(error.description)
    }
}
