/// Builds JSON text as UTF-8 bytes.
///
/// The calls follow the structure of the document: `beginObject`, then for each member `name` and a value, then
/// `endObject`. The writer adds commas, line breaks and escapes. The calling code must nest the calls correctly.
///
///     var writer = JSONWriter()
///     writer.beginObject()
///     writer.name("revision")
///     writer.write(integer: 17)
///     writer.endObject()
public struct JSONWriter: Sendable {
    /// The layout of the text.
    public struct Style: Equatable, Sendable {
        /// True to write each member and element on its own line, indented by two spaces for each level.
        public var isPretty: Bool
        /// True to sort the members of whole values by the bytes of their names. Members written one by one keep the
        /// order of the calls.
        public var sortsMembers: Bool

        /// One line without spaces; members in their order.
        public static let compact = Style(isPretty: false, sortsMembers: false)
        /// Several lines for people; members in their order.
        public static let pretty = Style(isPretty: true, sortsMembers: false)
        /// One line with sorted members: equal values give equal bytes.
        public static let canonical = Style(isPretty: false, sortsMembers: true)
        /// Several lines with sorted members, for files that people compare line by line.
        public static let canonicalPretty = Style(isPretty: true, sortsMembers: true)
    }

    package private(set) var bytes: [UInt8]
    package let style: Style
    private var depth = 0
    private var state = State.opening
    /// A name that the writer has not written yet. The writer writes the name together with its value in one step,
    /// which is faster, because most of an answer consists of names with values.
    private var pendingName: StaticString?

    /// The kind of the text that was written last.
    private enum State {
        /// An opening bracket, or the beginning of the document.
        case opening
        /// A name.
        case name
        /// A value or a closing bracket. A comma must precede the next name or value.
        case value
    }

    package init(style: Style = .compact, reservingCapacity capacity: Int = 0) {
        self.style = style
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Removes all bytes, so that the next call begins another document. Keeps the allocated memory if
    /// `keepingCapacity` is true.
    package mutating func removeAll(keepingCapacity: Bool = false) {
        bytes.removeAll(keepingCapacity: keepingCapacity)
        (depth, state, pendingName) = (0, .opening, nil)
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

    /// Writes the name of the next member.
    package mutating func name(_ name: String) {
        appendQuoted(name)
        bytes.append(UInt8(ascii: ":"))
        if style.isPretty { bytes.append(UInt8(ascii: " ")) }
        state = .name
    }

    /// Writes a name from a literal of the program, which must not need escapes.
    package mutating func name(literal name: StaticString) {
        if style.isPretty { self.name(name.description) } else { pendingName = name }
    }

    package mutating func write(string: String) {
        appendQuoted(string)
    }

    /// Writes a string from a literal of the program, which must not need escapes.
    package mutating func write(literal text: StaticString) {
        append(upTo: text.utf8CodeUnitCount + 2) { writer in
            writer.append("\"")
            writer.append(text)
            writer.append("\"")
        }
    }

    package mutating func write(integer: Int64) {
        append(upTo: 20) { $0.append(decimal: integer) }
    }

    /// Writes the shortest decimal that converts back to the same double. The text always has a fraction or an
    /// exponent, so that it is parsed as a double again. Writes `null` for a number that is not finite.
    package mutating func write(double: Double) {
        guard double.isFinite else { return writeNull() }
        write(rendered: double.description.utf8Span.span)
    }

    package mutating func write(bool: Bool) {
        append(upTo: 5) { bool ? $0.append("true") : $0.append("false") }
    }

    package mutating func writeNull() {
        append(upTo: 4) { $0.append("null") }
    }

    /// Writes one value, whose JSON text the calling code has rendered.
    package mutating func write(rendered: Span<UInt8>) {
        append(upTo: rendered.count) { $0.append(copying: rendered) }
    }

    /// Ends the text with a newline.
    package mutating func endLine() {
        bytes.append(UInt8(ascii: "\n"))
    }

    private mutating func open(_ bracket: UInt8) {
        append(upTo: 1) { $0.append(bracket) }
        depth += 1
        state = .opening
    }

    private mutating func close(_ bracket: UInt8) {
        depth = max(0, depth - 1)
        if style.isPretty && state == .value { breakLine() }
        bytes.append(bracket)
        state = .value
    }

    /// Appends a value of at most this number of bytes, with the separator before it.
    @inline(__always)
    private mutating func append(upTo length: Int, _ value: (inout BufferWriter) -> Void) {
        if style.isPretty { writeSeparator() }
        let (needsComma, name) = (state == .value, pendingName)
        // Four more bytes for the comma, the quotation marks of the name and the colon.
        bytes.append(upTo: length + (name?.utf8CodeUnitCount ?? 0) + 4) { writer in
            if needsComma { writer.append(",") }
            if let name {
                writer.append("\"")
                writer.append(name)
                writer.append("\":")
            }
            value(&writer)
        }
        (state, pendingName) = (.value, nil)
    }

    /// Writes the separator before a name or a value: a comma and, in a pretty style, a line break.
    private mutating func writeSeparator() {
        if state == .value { bytes.append(UInt8(ascii: ",")) }
        if state != .name && depth > 0 { breakLine() }
        // The separator is complete, as after a name.
        state = .name
    }

    private mutating func breakLine() {
        bytes.append(UInt8(ascii: "\n"))
        for _ in 0..<depth { bytes.append(copying: "  ".utf8Span.span) }
    }

    /// Writes a quoted string with the separator before it.
    private mutating func appendQuoted(_ text: String) {
        let text = text.utf8Span.span
        guard JSONParser.endOfPlain(text, from: 0) == text.count else { return appendEscaped(text) }
        append(upTo: text.count + 2) { writer in
            writer.append("\"")
            writer.append(copying: text)
            writer.append("\"")
        }
    }

    // Not inlined, because inlining would make the common case without escapes save more registers.
    @inline(never)
    private mutating func appendEscaped(_ text: Span<UInt8>) {
        append(upTo: 1) { $0.append("\"") }
        var start = 0
        while true {
            let end = JSONParser.endOfPlain(text, from: start)
            bytes.append(copying: text.extracting(start..<end))
            guard end < text.count else { return bytes.append(UInt8(ascii: "\"")) }
            appendEscape(text[end])
            start = end + 1
        }
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
    /// Appends the bytes that `write` writes, at most `length` bytes. The array reserves the memory for these bytes
    /// once.
    @inline(__always)
    fileprivate mutating func append(upTo length: Int, _ write: (inout BufferWriter) -> Void) {
        append(addingCapacity: length) { output in
            output.withUnsafeMutableBufferPointer { buffer, count in
                guard let start = buffer.baseAddress else { return }
                var writer = BufferWriter(end: start + count, limit: start + buffer.count)
                write(&writer)
                count = writer.end - start
            }
        }
    }
}

/// A writer into the reserved memory after the elements of an array. A write of more bytes than were reserved traps.
///
/// The target HTTPWire contains a similar type, because neither target may import the other.
private struct BufferWriter {
    var end: UnsafeMutablePointer<UInt8>
    let limit: UnsafeMutablePointer<UInt8>

    /// Returns a pointer to the next `count` bytes, which the calling method must initialize.
    @inline(__always)
    private mutating func reserveBytes(_ count: Int) -> UnsafeMutablePointer<UInt8> {
        precondition(count <= limit - end)
        defer { end += count }
        return end
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) { reserveBytes(1).pointee = byte }

    /// Appends a literal of the program.
    @inline(__always)
    mutating func append(_ text: StaticString) {
        reserveBytes(text.utf8CodeUnitCount).initialize(from: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    @inline(__always)
    mutating func append(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { bytes in
            guard let source = bytes.baseAddress else { return }
            reserveBytes(bytes.count).initialize(from: source, count: bytes.count)
        }
    }

    /// Appends a number in decimal digits.
    mutating func append(decimal number: Int64) {
        if number < 0 { append("-") }
        var (count, bound) = (1, UInt64(10))
        while number.magnitude >= bound { (count, bound) = (count + 1, bound * 10) }
        let start = reserveBytes(count)
        var rest = number.magnitude
        while count > 1 {
            let (tens, ones) = UInt8(truncatingIfNeeded: rest % 100).quotientAndRemainder(dividingBy: 10)
            rest /= 100
            count -= 2
            start[count] = UInt8(ascii: "0") + tens
            start[count + 1] = UInt8(ascii: "0") + ones
        }
        if count == 1 { start[0] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest) }
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
