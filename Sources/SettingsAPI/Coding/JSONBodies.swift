package import SettingsModel

/// A value that can be read from its JSON form.
///
/// Reading an answer ignores unknown members, because a newer server may send more members. Reading a request refuses
/// unknown members, because it would otherwise ignore a misspelt member silently.
package protocol JSONReadable: SendableMetatype {
    /// Reads the value. The pointer of the error is relative to `json`.
    init(json: JSONValue) throws(BodyError)
}

/// A value that writes its JSON form piece by piece, without making a `JSONValue` first.
package protocol JSONWritable {
    /// Writes exactly one JSON value.
    func write(to writer: inout JSONWriter)
}

/// A value whose JSON form is an object.
package protocol JSONBody: JSONReadable, JSONWritable {
    init(_ reader: ObjectReader) throws(BodyError)

    /// Writes the members without the braces, so that another body can contain them.
    func writeMembers(to writer: inout JSONWriter)
}

extension JSONBody {
    package init(json: JSONValue) throws(BodyError) {
        try self.init(ObjectReader(json))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(to: &writer)
        writer.endObject()
    }
}

extension JSONWritable {
    package func jsonBytes(style: JSONWriter.Style = .compact) -> [UInt8] {
        // 256 bytes are enough for a body about one setting. For a longer body, the writer allocates more memory.
        var writer = JSONWriter(style: style, reservingCapacity: 256)
        write(to: &writer)
        return writer.bytes
    }

    /// The JSON value whose text ``jsonBytes(style:)`` returns.
    package var jsonValue: JSONValue {
        // Parsing cannot fail: the text is valid JSON, and a body adds few levels of nesting to the values in it.
        (try? JSONValue(parsing: jsonBytes(), maximumDepth: JSONValue.maximumDepthAroundValues)) ?? .null
    }

    package func jsonText(style: JSONWriter.Style = .compact) -> String {
        String(decoding: jsonBytes(style: style), as: UTF8.self)
    }
}

/// A value whose JSON form is a string.
package protocol JSONText: JSONReadable, JSONWritable, CustomStringConvertible {
    /// A description of the form for messages, such as `a cursor such as 7f3a.40`.
    static var expectedText: String { get }

    init?(_ text: String)
}

extension JSONText {
    package init(json: JSONValue) throws(BodyError) {
        guard let value = Self(try String(json: json)) else {
            throw BodyError("must be \(Self.expectedText) (got another string)")
        }
        self = value
    }

    package func write(to writer: inout JSONWriter) {
        writer.write(string: description)
    }
}

extension JSONPointer: JSONText {
    package static let expectedText = "a JSON Pointer such as /player/volume"
}

extension JSONValue: JSONReadable, JSONWritable {
    package init(json: JSONValue) {
        self = json
    }

    package func write(to writer: inout JSONWriter) {
        writer.write(self)
    }
}

extension String: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        guard case .string(let value) = json else { throw .expected("a string", found: json) }
        self = value
    }

    package func write(to writer: inout JSONWriter) {
        writer.write(string: self)
    }
}

extension Int64: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        guard case .integer(let value) = json else { throw .expected("an integer", found: json) }
        self = value
    }

    package func write(to writer: inout JSONWriter) {
        writer.write(integer: self)
    }
}

extension Bool: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        guard case .bool(let value) = json else { throw .expected("true or false", found: json) }
        self = value
    }

    package func write(to writer: inout JSONWriter) {
        writer.write(bool: self)
    }
}

extension Array: JSONReadable where Element: JSONReadable {
    package init(json: JSONValue) throws(BodyError) {
        self = try json.list(of: Element.init(json:))
    }
}

extension Array: JSONWritable where Element: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.beginArray()
        for element in self { element.write(to: &writer) }
        writer.endArray()
    }
}

extension KeyName: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        let text = try String(json: json)
        do { try self.init(text) } catch { throw BodyError(error.description) }
    }

    package func write(to writer: inout JSONWriter) {
        writer.write(string: text)
    }
}

extension SuiteName: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        let text = try String(json: json)
        do { try self.init(text) } catch { throw BodyError(error.description) }
    }

    package func write(to writer: inout JSONWriter) {
        writer.write(string: text)
    }
}

extension Violation: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            suite: try reader.optional("suite"), key: try reader.optional("key"),
            pointer: try reader.optional("pointer") ?? .root, keyword: try reader.required("keyword"),
            detail: try reader.required("detail"), expected: try reader.optional("expected"),
            actual: try reader.optional("actual"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("suite", suite)
        writer.member("key", key)
        writer.member("pointer", pointer)
        writer.member("keyword", keyword)
        writer.member("detail", detail)
        writer.member("expected", expected)
        writer.member("actual", actual)
    }
}

/// Writes a member with its name. Omits a member without a value.
extension JSONWriter {
    package mutating func member(_ name: StaticString, _ value: (some JSONWritable)?) {
        guard let value else { return }
        self.name(literal: name)
        value.write(to: &self)
    }

    mutating func member(named name: String, _ value: some JSONWritable) {
        self.name(name)
        value.write(to: &self)
    }

    mutating func member(_ name: StaticString, unlessEmpty list: [some JSONWritable]) {
        if !list.isEmpty { member(name, list) }
    }

    /// Writes a flag if it is true. Omits it otherwise.
    mutating func flag(_ name: StaticString, _ isOn: Bool) {
        if isOn { member(name, true) }
    }
}

/// The reason why a JSON body does not have the expected form, with the location of the error.
///
/// The detail contains types, names and words such as an unknown `op`, but no values of settings, so that it may be
/// logged.
package struct BodyError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The location in the body. For a missing member, the location of the object without it.
    package let pointer: JSONPointer
    /// The location of the fault, for people: `"by" of element 1 of "do"`. Empty if the fault concerns the whole body.
    private let location: String
    /// The cause, such as `must be an integer (got a string)`.
    package let detail: String
    /// The names that were probably meant, the nearest first.
    package let didYouMean: [String]

    package init(_ detail: String, didYouMean: [String] = []) {
        self.init(detail, at: .root, location: "", didYouMean: didYouMean)
    }

    private init(_ detail: String, at pointer: JSONPointer, location: String, didYouMean: [String]) {
        self.pointer = pointer
        self.location = location
        self.detail = detail
        self.didYouMean = didYouMean
    }

    /// Returns the error for the object that contains the faulty value as the member `name`.
    func inMember(_ name: String) -> BodyError {
        prefixed(by: name, phrase: Self.quoted(name))
    }

    /// Returns the error for the array that contains the faulty value at `index`.
    func inElement(_ index: Int) -> BodyError {
        prefixed(by: String(index), phrase: "element \(index + 1)")
    }

    private func prefixed(by token: String, phrase: String) -> BodyError {
        BodyError(
            detail, at: JSONPointer([token] + pointer.tokens),
            location: location.isEmpty ? phrase : "\(location) of \(phrase)", didYouMean: didYouMean)
    }

    static func expected(_ expected: String, found value: JSONValue) -> BodyError {
        BodyError("must be \(expected) (got \(value.kindPhrase))")
    }

    /// The error for a word that is not in a list: `must be one of set, add (got "ad"); did you mean add?`.
    static func unknown(word: String, among known: [String]) -> BodyError {
        let nearest = NameSuggestion.nearest(to: word, among: known)
        return BodyError(
            "must be one of \(known.joined(separator: ", ")) (got \(quoted(word)))\(suggestion(nearest) ?? "")",
            didYouMean: nearest)
    }

    /// The error for a member that its object must not have.
    static func unknown(member name: String, among known: [String]) -> BodyError {
        let nearest = NameSuggestion.nearest(to: name, among: known)
        let advice = suggestion(nearest) ?? "; use one of \(known.joined(separator: ", "))"
        return BodyError("unknown member\(advice)", didYouMean: nearest).inMember(name)
    }

    private static func suggestion(_ nearest: [String]) -> String? {
        nearest.first.map { "; did you mean \($0)?" }
    }

    /// Returns the name in quotation marks. Truncates a name that is too long for a message.
    static func quoted(_ name: String) -> String {
        JSONValue.string(name.cut(to: 64)).text()
    }

    /// The location and the cause, such as `"by" of element 1 of "do": must be a number (got a string)`.
    package var description: String {
        location.isEmpty ? detail : "\(location): \(detail)"
    }
}

extension JSONPointer {
    /// The text form. Truncates a text that is too long for a message.
    var phrase: String {
        description.cut(to: 160)
    }
}
