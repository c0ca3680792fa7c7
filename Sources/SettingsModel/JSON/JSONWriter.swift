/// A writer that appends JSON text to bytes piece by piece.
///
/// The calls mirror the document: `beginObject`, then for each member its `name` and a value, then `endObject`. The writer
/// adds commas, line breaks and escapes. The caller must nest the calls properly.
///
///     var writer = JSONWriter()
///     writer.beginObject()
///     writer.name("revision")
///     writer.write(integer: 17)
///     writer.endObject()
public struct JSONWriter: Sendable {
    /// A style that says how the text is laid out.
    public struct Style: Equatable, Sendable {
        /// True for each member and element on a line of its own, indented by two spaces a level.
        public var isPretty: Bool
        /// True to order the members of whole values by the bytes of their names. Pieces keep the order of the calls.
        public var sortsMembers: Bool

        /// One line without spaces, members in their order.
        public static let compact = Style(isPretty: false, sortsMembers: false)
        /// For reading, members in their order.
        public static let pretty = Style(isPretty: true, sortsMembers: false)
        /// For comparing byte by byte: equal values give equal text.
        public static let canonical = Style(isPretty: false, sortsMembers: true)
        /// For files that people compare line by line.
        public static let canonicalPretty = Style(isPretty: true, sortsMembers: true)
    }

    package private(set) var bytes: [UInt8]
    package let style: Style
    private var depth = 0
    /// True if the next value or name follows another one in the same array or object.
    private var followsAnother = false
    /// True if the next value belongs to a name that was just written.
    private var followsName = false

    package init(style: Style = .compact, reservingCapacity capacity: Int = 0) {
        self.style = style
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Begins another document, in the same memory if `keepingCapacity`.
    package mutating func removeAll(keepingCapacity: Bool = false) {
        bytes.removeAll(keepingCapacity: keepingCapacity)
        depth = 0
        followsAnother = false
        followsName = false
    }

    package mutating func write(_ value: JSONValue) {
        switch value {
        case .null: writeNull()
        case .bool(let value): write(bool: value)
        case .integer(let value): write(integer: value)
        case .double(let value): write(double: value)
        case .string(let value): write(string: value)
        case .array(let elements):
            beginArray()
            for element in elements { write(element) }
            endArray()
        case .object(let object):
            beginObject()
            for member in style.sortsMembers ? object.sortedMembers : object.members {
                name(member.name)
                write(member.value)
            }
            endObject()
        }
    }

    package mutating func beginObject() {
        open(UInt8(ascii: "{"))
    }

    package mutating func endObject() {
        close(UInt8(ascii: "}"))
    }

    package mutating func beginArray() {
        open(UInt8(ascii: "["))
    }

    package mutating func endArray() {
        close(UInt8(ascii: "]"))
    }

    /// Writes the name of the member whose value comes next.
    package mutating func name(_ name: String) {
        appendQuoted(name)
        bytes.append(UInt8(ascii: ":"))
        if style.isPretty { bytes.append(UInt8(ascii: " ")) }
        followsName = true
    }

    /// Writes a name that the program says, which has no byte to escape.
    package mutating func name(literal name: StaticString) {
        let comma = takeComma()
        bytes.append(quoting: name.utf8Start, name.utf8CodeUnitCount, behindComma: comma, isName: true)
        if style.isPretty { bytes.append(UInt8(ascii: " ")) }
        followsName = true
    }

    package mutating func write(string: String) {
        appendQuoted(string)
    }

    package mutating func write(integer: Int64) {
        separate()
        appendDecimal(integer)
    }

    /// Writes a double with the fewest digits that read back equal, always with a fraction or an exponent, so that it stays a
    /// double. Writes `null` for one that is not finite.
    package mutating func write(double: Double) {
        separate()
        bytes.append(copying: (double.isFinite ? double.description : "null").utf8Span.span)
    }

    package mutating func write(bool: Bool) {
        separate()
        bytes.append(copying: (bool ? "true" : "false").utf8Span.span)
    }

    package mutating func writeNull() {
        separate()
        bytes.append(copying: "null".utf8Span.span)
    }

    /// Writes bytes that already are one JSON value.
    package mutating func write(rendered: Span<UInt8>) {
        separate()
        bytes.append(copying: rendered)
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        depth += 1
        followsAnother = false
    }

    private mutating func close(_ bracket: UInt8) {
        depth = max(0, depth - 1)
        if followsAnother && style.isPretty { breakLine() }
        bytes.append(bracket)
        followsAnother = true
    }

    /// True if a comma comes before the next name or value, which the caller writes with it. What else comes before it is
    /// written.
    private mutating func takeComma() -> Bool {
        guard !style.isPretty else {
            separate()
            return false
        }
        defer { (followsName, followsAnother) = (false, true) }
        return followsAnother && !followsName
    }

    /// Writes the comma and line break before a name or a value.
    private mutating func separate() {
        if followsName {
            followsName = false
        } else {
            if followsAnother { bytes.append(UInt8(ascii: ",")) }
            if style.isPretty && depth > 0 { breakLine() }
        }
        followsAnother = true
    }

    private mutating func breakLine() {
        bytes.append(UInt8(ascii: "\n"))
        for _ in 0..<depth { bytes.append(copying: "  ".utf8Span.span) }
    }

    private mutating func appendDecimal(_ integer: Int64) {
        var (count, bound) = (1, UInt64(10))
        while integer.magnitude >= bound { (count, bound) = (count + 1, bound * 10) }
        let sign = integer < 0 ? 1 : 0
        bytes.append(sign + count) { room in
            var rest = integer.magnitude
            for index in stride(from: sign + count - 1, through: sign, by: -1) {
                let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
                room[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
                rest = quotient
            }
            if sign == 1 { room[0] = UInt8(ascii: "-") }
        }
    }

    /// Writes a name or a string, and what comes before it.
    private mutating func appendQuoted(_ text: String) {
        let span = text.utf8Span.span
        var index = 0
        while index + 8 <= span.count,
            JSONParser.isPlain(span.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
        {
            index += 8
        }
        while index < span.count, !Self.mustEscape(span[index]) { index += 1 }
        if index == span.count {
            let comma = takeComma()
            return span.withUnsafeBufferPointer {
                bytes.append(quoting: $0.baseAddress, $0.count, behindComma: comma, isName: false)
            }
        }
        separate()
        bytes.append(UInt8(ascii: "\""))
        var plainStart = 0
        while index < span.count {
            if Self.mustEscape(span[index]) {
                bytes.append(copying: span.extracting(plainStart..<index))
                appendEscape(span[index])
                plainStart = index + 1
            }
            index += 1
        }
        bytes.append(copying: span.extracting(plainStart..<span.count))
        bytes.append(UInt8(ascii: "\""))
    }

    private static func mustEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func appendEscape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        default:
            bytes.append(copying: "u00".utf8Span.span)
            bytes.append(ASCII.hexadecimalDigit(for: byte >> 4))
            bytes.append(ASCII.hexadecimalDigit(for: byte & 0x0F))
        }
    }
}

extension [UInt8] {
    /// Adds bytes between quotation marks: in one step, as nearly all of an answer is such. Behind a name comes a colon.
    @inline(__always)
    fileprivate mutating func append(
        quoting text: UnsafePointer<UInt8>?, _ count: Int, behindComma comma: Bool, isName: Bool
    ) {
        append((comma ? 1 : 0) + count + (isName ? 3 : 2)) { room in
            var place = room
            func put(_ mark: Unicode.Scalar) {
                place.pointee = UInt8(ascii: mark)
                place += 1
            }
            if comma { put(",") }
            put("\"")
            if let text {
                place.update(from: text, count: count)
                place += count
            }
            put("\"")
            if isName { put(":") }
        }
    }

    /// Adds so many bytes, which the body writes.
    @inline(__always)
    fileprivate mutating func append(_ count: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Void) {
        append(addingCapacity: count) { output in
            output.withUnsafeMutableBufferPointer { buffer, initialized in
                guard let start = buffer.baseAddress else { return }
                write(start + initialized)
                initialized += count
            }
        }
    }
}

extension JSONValue {
    /// The value as JSON bytes.
    public func bytes(style: JSONWriter.Style = .compact) -> [UInt8] {
        var writer = JSONWriter(style: style)
        writer.write(self)
        return writer.bytes
    }

    /// The value as JSON text.
    public func text(style: JSONWriter.Style = .compact) -> String {
        String(decoding: bytes(style: style), as: UTF8.self)
    }
}
