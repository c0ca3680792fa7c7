/// Serialized HTTP fields. Fields that many responses have in common are serialized once and then copied.
///
/// Most names are string literals. Values may come from a client: each control character is replaced with a space, so
/// that a value cannot inject another field.
package struct FieldBlock: Equatable, Sendable {
    /// The field lines. Each line ends with CR LF.
    package private(set) var bytes: [UInt8]

    package init(reservingCapacity capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    package var isEmpty: Bool { bytes.isEmpty }

    /// Appends a field whose value is a string literal.
    package mutating func append(_ name: StaticString, _ value: StaticString) {
        value.withUTF8Buffer { append(name, $0.span) }
    }

    /// Appends a field whose value may come from a client.
    package mutating func append(_ name: StaticString, text: String) {
        append(name, text.utf8Span.span)
    }

    /// Appends a field whose value consists of bytes that may come from a client.
    package mutating func append(_ name: StaticString, _ value: Span<UInt8>) {
        append(name, upTo: value.count) { $0.append(replacingControlsIn: value) }
    }

    /// Appends a field whose value is an integer between texts, such as the cursor `k3v9x2ab.17` or the entity tag
    /// `"17"`. Allocates no string.
    package mutating func append(
        _ name: StaticString, _ prefix: String, _ separator: StaticString = "", integer: Int,
        _ suffix: StaticString = ""
    ) {
        let prefix = prefix.utf8Span.span
        let length = prefix.count + separator.utf8CodeUnitCount + suffix.utf8CodeUnitCount
        append(name, upTo: length + BufferWriter.maximumNumberLength) { writer in
            writer.append(replacingControlsIn: prefix)
            writer.append(separator)
            writer.append(decimal: integer)
            writer.append(suffix)
        }
    }

    package mutating func append(_ name: StaticString, integer: Int) {
        append(name, "", integer: integer)
    }

    /// Appends received field lines whose syntax has been checked.
    mutating func append(lines: Span<UInt8>) {
        bytes.append(copying: lines)
    }

    /// Returns the value of the first field with a name, or nil if there is none. The name must be in lower case.
    package func value(of name: StaticString) -> String? {
        let span = bytes.span
        var lines = FieldLines(0..<bytes.count)
        while let line = lines.next(in: span) {
            if span.holds(ignoringCase: name, in: line.name) { return span.text(in: line.value) }
        }
        return nil
    }

    package var all: [(name: String, value: String)] {
        let span = bytes.span
        var lines = FieldLines(0..<bytes.count)
        var fields: [(name: String, value: String)] = []
        while let line = lines.next(in: span) {
            fields.append((span.text(in: line.name), span.text(in: line.value)))
        }
        return fields
    }

    package mutating func append(_ other: FieldBlock) {
        bytes.append(contentsOf: other.bytes)
    }

    /// Appends a field. `value` writes the value, which has at most `length` bytes.
    @inline(__always)
    private mutating func append(
        _ name: StaticString, upTo length: Int, _ value: (inout BufferWriter) -> Void
    ) {
        assert(Self.isAllowed(name), "\(name) is not a valid field name, or ResponseWriter adds this field")
        bytes.append(atMost: name.utf8CodeUnitCount + length + 4) { writer in
            writer.append(name)
            writer.append(": ")
            value(&writer)
            writer.append("\r\n")
        }
    }

    /// True if the text is a valid field name, and not the name of a field that ``ResponseWriter`` adds.
    static func isAllowed(_ name: StaticString) -> Bool {
        name.withUTF8Buffer { buffer in
            let span = buffer.span
            guard !span.isEmpty else { return false }
            for index in span.indices where !ByteSet.token.contains(span[index]) { return false }
            let all = 0..<span.count
            return !span.holds(ignoringCase: "content-length", in: all)
                && !span.holds(ignoringCase: "content-type", in: all)
                && !span.holds(ignoringCase: "transfer-encoding", in: all)
                && !span.holds(ignoringCase: "connection", in: all) && !span.holds(ignoringCase: "date", in: all)
        }
    }
}
