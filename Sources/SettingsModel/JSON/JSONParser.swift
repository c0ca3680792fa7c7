extension JSONValue {
    /// The levels of arrays and objects that a document may nest. A scalar is at level 0.
    public static let maximumDepth = 128

    /// The levels of a document that contains stored values: an answer, a line of the journal, a snapshot. Each value is a few
    /// levels down in it and may itself have ``maximumDepth`` levels.
    package static let maximumDepthAroundValues = maximumDepth + 16

    /// Reads one whole JSON document.
    ///
    /// Strict: RFC 8259 and nothing beyond it. Throws for integers beyond Int64 and numbers beyond a finite Double instead of
    /// rounding, and for a name that occurs twice in its object. Takes linear time for any input.
    ///
    /// - Parameters:
    ///   - bytes: the document in UTF-8.
    ///   - maximumDepth: the levels of nesting that are allowed, at most 256.
    public init(parsing bytes: Span<UInt8>, maximumDepth: Int = JSONValue.maximumDepth) throws(JSONParseError) {
        try JSONParser.checkUTF8(bytes)
        var parser = JSONParser(maximumDepth: maximumDepth)
        self = try parser.document(bytes)
    }

    /// Reads one JSON document from bytes.
    public init(parsing bytes: [UInt8], maximumDepth: Int = JSONValue.maximumDepth) throws(JSONParseError) {
        try self.init(parsing: bytes.span, maximumDepth: maximumDepth)
    }

    /// Reads one JSON document from text.
    public init(parsing text: String, maximumDepth: Int = JSONValue.maximumDepth) throws(JSONParseError) {
        var parser = JSONParser(maximumDepth: maximumDepth)
        self = try parser.document(text.utf8Span.span)
    }
}

/// A Bloom filter that tells which names an object surely does not have yet, so that most need no comparison.
private struct NameFilter {
    private var bits: UInt64 = 0
    /// True after a name with escapes, as equal names can then have different bits.
    private var hasEscapes = false

    /// Adds a name, also given as it is written with its quotation marks. Returns true if it is surely new.
    mutating func insert(_ name: String, writtenAs quoted: Span<UInt8>) -> Bool {
        // Every escape is longer than what it stands for.
        if quoted.count != name.utf8.count + 2 { hasEscapes = true }
        let middle = quoted[quoted.count / 2]
        let bit: UInt64 = 1 << ((UInt64(quoted.count) &* 7 &+ UInt64(middle) &+ UInt64(quoted[1]) &* 3) & 63)
        let isNew = bits & bit == 0 && !hasEscapes
        bits |= bit
        return isNew
    }
}

/// A parser that reads JSON by recursive descent. The bytes, which must be valid UTF-8, are an argument of each method, as an
/// escapable struct cannot hold a span.
struct JSONParser {
    let maximumDepth: Int
    var position = 0
    private var depth = 0

    /// The limit that no caller can exceed, as parsing recurses.
    private static let deepest = 256

    init(maximumDepth: Int) {
        self.maximumDepth = min(maximumDepth, Self.deepest)
    }

    /// Throws if bytes are not UTF-8, at the first that is wrong.
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
        guard matches else { throw fail(bytes, "expected a value; did you mean \(word)?") }
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

    /// Moves past an opening bracket.
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

    /// Describes the character at the position for an error message.
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

    /// Makes a string of bytes, which must be valid UTF-8.
    static func text(_ bytes: Span<UInt8>) -> String {
        String(copying: UTF8Span(unchecked: bytes))
    }
}

/// An error that says why a text is not JSON, and where.
public struct JSONParseError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The first wrong byte, from 0.
    public let offset: Int
    /// The line of that byte, from 1; a line ends with a line feed.
    public let line: Int
    /// The column of that byte, from 1, in Unicode scalars.
    public let column: Int
    /// The cause without the position.
    public let reason: String
    /// True if the text is JSON by its grammar up to here, but a ``JSONValue`` cannot hold it.
    package let isUnrepresentable: Bool

    /// The reason with its position, such as `line 3, column 14: expected ':' after the name, found '='`.
    public var description: String {
        "line \(line), column \(column): \(reason)"
    }

    init(at offset: Int, in bytes: Span<UInt8>, _ reason: String, isUnrepresentable: Bool = false) {
        var line = 1
        var column = 1
        var index = 0
        // Bytes that continue a scalar (0b10xxxxxx) do not count as columns.
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
