extension JSONValue {
    /// The maximum nesting of arrays and objects in a value. A scalar is at level 0.
    public static let maximumDepth = 128

    /// The maximum nesting of a document that contains stored values, such as an answer, a line of the journal or a
    /// snapshot. Each value is a few levels below the root of the document, and may itself have ``maximumDepth``
    /// levels.
    package static let maximumDepthAroundValues = maximumDepth + 16

    /// Parses a complete JSON document.
    ///
    /// Accepts exactly the syntax of RFC 8259. Throws for an integer that does not fit Int64 and for a number that is
    /// larger than every finite Double, instead of rounding them. Also throws for an object with a repeated name, for
    /// an escape with half of a surrogate pair, and for a too deep nesting. Takes linear time for any input.
    ///
    /// - Parameters:
    ///   - bytes: the document in UTF-8.
    ///   - maximumDepth: the maximum nesting. A number greater than 256 counts as 256.
    package init(parsing bytes: Span<UInt8>, maximumDepth: Int = JSONValue.maximumDepth) throws(JSONParseError) {
        try JSONParser.checkUTF8(bytes)
        var parser = JSONParser(maximumDepth: maximumDepth)
        self = try parser.document(bytes)
    }

    /// Parses a complete JSON document.
    public init(parsing bytes: [UInt8], maximumDepth: Int = JSONValue.maximumDepth) throws(JSONParseError) {
        try self.init(parsing: bytes.span, maximumDepth: maximumDepth)
    }

    /// Parses a complete JSON document.
    public init(parsing text: String, maximumDepth: Int = JSONValue.maximumDepth) throws(JSONParseError) {
        var parser = JSONParser(maximumDepth: maximumDepth)
        self = try parser.document(text.utf8Span.span)
    }
}

/// A Bloom filter of the names of an object. For most names, the filter shows that the object does not have the name
/// yet, so that no comparison with the other names is needed.
private struct NameFilter {
    private var bits: UInt64 = 0
    /// True if a name was written with escapes. Equal names can then have different bits in the filter.
    private var hasEscapes = false

    /// Adds a name. Returns true if the object certainly does not have the name yet, and false if it may have the name.
    /// `quoted` is the name as the document writes it, with its quotation marks.
    mutating func insert(_ name: String, writtenAs quoted: Span<UInt8>) -> Bool {
        // An escape is always longer than the character that it represents.
        if quoted.count != name.utf8.count + 2 { hasEscapes = true }
        // The bit depends on the length, the first byte and the middle byte of the name.
        let middle = quoted[quoted.count / 2]
        let bit: UInt64 = 1 << ((UInt64(quoted.count) &* 7 &+ UInt64(middle) &+ UInt64(quoted[1]) &* 3) & 63)
        let isNew = bits & bit == 0 && !hasEscapes
        bits |= bit
        return isNew
    }
}

/// A recursive descent parser. The bytes must be valid UTF-8. They are a parameter of each method, because an escapable
/// struct cannot store a span.
struct JSONParser {
    let maximumDepth: Int
    var position = 0
    private var depth = 0

    /// The upper limit of `maximumDepth`. Parsing is recursive, so a deeper document could overflow the stack.
    private static let depthLimit = 256

    init(maximumDepth: Int) {
        self.maximumDepth = min(maximumDepth, Self.depthLimit)
    }

    /// Throws if the bytes are not valid UTF-8. The error has the offset of the first invalid byte.
    static func checkUTF8(_ bytes: Span<UInt8>) throws(JSONParseError) {
        do {
            _ = try UTF8Span(validating: bytes)
        } catch {
            throw JSONParseError(at: error.byteOffsets.lowerBound, in: bytes, "the bytes are not valid UTF-8")
        }
    }

    mutating func document(_ bytes: Span<UInt8>) throws(JSONParseError) -> JSONValue {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
            throw fail(bytes, "expected a value, found a byte order mark")
        }
        skipWhitespace(bytes)
        let value = try value(bytes)
        skipWhitespace(bytes)
        guard position == bytes.count else {
            throw fail(bytes, "expected the end of the text after the value, found \(found(bytes))")
        }
        return value
    }

    private mutating func value(_ bytes: Span<UInt8>) throws(JSONParseError) -> JSONValue {
        guard position < bytes.count else { throw fail(bytes, "expected a value, found the end of the text") }
        switch bytes[position] {
        case UInt8(ascii: "\""): return .string(try string(bytes))
        case UInt8(ascii: "{"): return .object(try object(bytes))
        case UInt8(ascii: "["): return .array(try array(bytes))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number(bytes)
        case UInt8(ascii: "t"): return try literal("true", .bool(true), bytes)
        case UInt8(ascii: "f"): return try literal("false", .bool(false), bytes)
        case UInt8(ascii: "n"): return try literal("null", .null, bytes)
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
            throw fail(bytes, "expected a value, found \(found(bytes)); a text needs quotation marks")
        default: throw fail(bytes, "expected a value, found \(found(bytes))")
        }
    }

    private mutating func literal(
        _ word: StaticString, _ value: JSONValue, _ bytes: Span<UInt8>
    ) throws(JSONParseError) -> JSONValue {
        let end = position + word.utf8CodeUnitCount
        let matches =
            end <= bytes.count
            && word.withUTF8Buffer { $0.span.hasSameBytes(as: bytes.extracting(position..<end)) }
        guard matches else {
            throw fail(bytes, "expected a value; did you mean \(word), or a text in quotation marks?")
        }
        position = end
        return value
    }

    private mutating func array(_ bytes: Span<UInt8>) throws(JSONParseError) -> [JSONValue] {
        var elements: [JSONValue] = []
        try enter(bytes)
        if consume(UInt8(ascii: "]"), bytes) {
            leave()
            return elements
        }
        while true {
            elements.append(try value(bytes))
            skipWhitespace(bytes)
            if consume(UInt8(ascii: ","), bytes) {
                skipWhitespace(bytes)
            } else if consume(UInt8(ascii: "]"), bytes) {
                leave()
                return elements
            } else {
                throw fail(bytes, "expected ',' or ']' after the element, found \(found(bytes))")
            }
        }
    }

    private mutating func object(_ bytes: Span<UInt8>) throws(JSONParseError) -> JSONObject {
        var object = JSONObject()
        var names = NameFilter()
        try enter(bytes)
        if consume(UInt8(ascii: "}"), bytes) {
            leave()
            return object
        }
        while true {
            try member(of: &object, &names, bytes)
            skipWhitespace(bytes)
            if consume(UInt8(ascii: ","), bytes) {
                skipWhitespace(bytes)
            } else if consume(UInt8(ascii: "}"), bytes) {
                leave()
                return object
            } else {
                throw fail(bytes, "expected ',' or '}' after the member, found \(found(bytes))")
            }
        }
    }

    private mutating func member(
        of object: inout JSONObject, _ names: inout NameFilter, _ bytes: Span<UInt8>
    ) throws(JSONParseError) {
        let start = position
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
            throw fail(bytes, "expected a name in quotation marks, found \(found(bytes))")
        }
        let name = try string(bytes)
        let isSurelyNew = names.insert(name, writtenAs: bytes.extracting(start..<position))
        skipWhitespace(bytes)
        guard consume(UInt8(ascii: ":"), bytes) else {
            throw fail(bytes, "expected ':' after the name, found \(found(bytes))")
        }
        skipWhitespace(bytes)
        let value = try value(bytes)
        let member = JSONObject.Member(name: name, value: value)
        if isSurelyNew {
            object.appendNew(member)
        } else if !object.append(member) {
            let shown = JSONValue.string(name).briefPhrase
            throw JSONParseError(
                at: start, in: bytes, "the name \(shown) occurs twice in the object", isUnrepresentable: true)
        }
    }

    /// Advances past an opening bracket and the whitespace after it, and increments the depth.
    private mutating func enter(_ bytes: Span<UInt8>) throws(JSONParseError) {
        guard depth < maximumDepth else {
            throw JSONParseError(
                at: position, in: bytes, "the value is nested more than \(maximumDepth) levels deep",
                isUnrepresentable: true)
        }
        depth += 1
        position += 1
        skipWhitespace(bytes)
    }

    /// Decrements the depth. Called after a closing bracket.
    private mutating func leave() {
        depth -= 1
    }

    private mutating func consume(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipWhitespace(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): position += 1
            default: return
            }
        }
    }

    func fail(_ bytes: Span<UInt8>, _ reason: String) -> JSONParseError {
        JSONParseError(at: position, in: bytes, reason)
    }

    /// Describes the character at the current position for an error message.
    func found(_ bytes: Span<UInt8>) -> String {
        guard position < bytes.count else { return "the end of the text" }
        var end = position + 1
        while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
        let text = Self.text(bytes.extracting(position..<end))
        guard let scalar = text.unicodeScalars.first else { return "the end of the text" }
        switch scalar.properties.generalCategory {
        case .control: return "the control character \(scalar.codePointText)"
        case .format, .nonspacingMark, .enclosingMark, .lineSeparator, .paragraphSeparator: return scalar.codePointText
        default: return "'\(text)'"
        }
    }

    /// Makes a string from bytes. The bytes must be valid UTF-8.
    static func text(_ bytes: Span<UInt8>) -> String {
        String(copying: UTF8Span(unchecked: bytes))
    }
}

/// The reason why a text is not valid JSON, with the position of the error.
public struct JSONParseError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The offset of the first invalid byte, counted from 0.
    public let offset: Int
    /// The line of the first invalid byte, counted from 1. A line ends with a line feed.
    public let line: Int
    /// The column of the first invalid byte in Unicode scalars, counted from 1.
    public let column: Int
    /// The reason without the position.
    public let reason: String
    /// True if the text is valid JSON up to the error, but a ``JSONValue`` cannot represent it.
    package let isUnrepresentable: Bool

    /// The position and the reason, such as `line 3, column 14: expected ':' after the name, found '='`.
    public var description: String {
        "line \(line), column \(column): \(reason)"
    }

    init(at offset: Int, in bytes: Span<UInt8>, _ reason: String, isUnrepresentable: Bool = false) {
        var line = 1
        var column = 1
        var index = 0
        // Continuation bytes (0b10xxxxxx) do not count as a column.
        while index < min(offset, bytes.count) {
            if bytes[index] == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if bytes[index] & 0xC0 != 0x80 {
                column += 1
            }
            index += 1
        }
        self.offset = offset
        self.line = line
        self.column = column
        self.reason = reason
        self.isUnrepresentable = isUnrepresentable
    }
}
