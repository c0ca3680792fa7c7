public import SettingsModel

/// What can be read from its form in JSON.
///
/// Answers ignore members they do not know, since a newer server may send more. Requests refuse them, since a member
/// that is misspelt must not be taken for one that was left out. Each type says which of the two it is.
public protocol JSONReadable: SendableMetatype {
    /// Reads the value; the pointer of the error leads from `json` to what was wrong.
    init(json: JSONValue) throws(BodyError)
}

/// What has a form in JSON and writes it piece by piece.
///
/// No tree of `JSONValue` is built on the way, because answers are rendered far more often than anything else.
public protocol JSONWritable {
    /// Writes exactly one JSON value.
    func write(to writer: inout JSONWriter)
}

extension JSONWritable {
    /// The JSON form as bytes.
    public func jsonBytes(style: JSONWriter.Style = .compact) -> [UInt8] {
        // Most bodies are about one setting; longer ones grow.
        var writer = JSONWriter(style: style, reservingCapacity: 256)
        write(to: &writer)
        return writer.bytes
    }

    /// The JSON form as text.
    public func jsonText(style: JSONWriter.Style = .compact) -> String {
        String(decoding: jsonBytes(style: style), as: UTF8.self)
    }
}

extension JSONValue: JSONWritable {
    /// Writes the value itself.
    public func write(to writer: inout JSONWriter) {
        writer.write(self)
    }
}

/// Members in one call: the name and what stands for it. A member without a value is left out.
extension JSONWriter {
    mutating func member(_ name: String, _ text: String?) {
        guard let text else { return }
        self.name(name)
        write(string: text)
    }

    mutating func member(_ name: String, _ integer: Int64?) {
        guard let integer else { return }
        self.name(name)
        write(integer: integer)
    }

    mutating func member(_ name: String, _ bool: Bool?) {
        guard let bool else { return }
        self.name(name)
        write(bool: bool)
    }

    mutating func member(_ name: String, _ value: (some JSONWritable)?) {
        guard let value else { return }
        self.name(name)
        value.write(to: &self)
    }

    mutating func member(_ name: String, _ list: [some JSONWritable]) {
        self.name(name)
        write(list)
    }

    /// A list that is left out when there is nothing in it.
    mutating func member(_ name: String, unlessEmpty list: [some JSONWritable]) {
        if !list.isEmpty { member(name, list) }
    }

    /// A flag that is left out when it is off.
    mutating func flag(_ name: String, _ isOn: Bool) {
        if isOn { member(name, true) }
    }

    mutating func write(_ list: [some JSONWritable]) {
        beginArray()
        for element in list { element.write(to: &self) }
        endArray()
    }
}

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
