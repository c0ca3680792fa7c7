/// A list of fields as they travel, so that fields that many responses share are rendered once.
///
/// Names are literals of the program. Values may come from anywhere: control characters become spaces, so no value can end
/// its line and bring in another field.
package struct FieldBlock: Equatable, Sendable {
    /// The lines, each with its CR LF.
    package private(set) var bytes: [UInt8]

    /// No fields, with room for some.
    package init(reservingCapacity capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    package var isEmpty: Bool { bytes.isEmpty }

    /// Adds a field.
    package mutating func append(_ name: StaticString, _ value: StaticString) {
        value.withUTF8Buffer { append(name, $0.span) }
    }

    /// Adds a field with text from anywhere.
    package mutating func append(_ name: StaticString, text: String) {
        append(name, text.utf8Span.span)
    }

    /// Adds a field with bytes from anywhere.
    package mutating func append(_ name: StaticString, _ value: Span<UInt8>) {
        append(name, upTo: value.count) { $0.append(onOneLine: value) }
    }

    /// Adds a field with a number that has text round it, without a string made of them.
    package mutating func append(
        _ name: StaticString, _ before: String, _ mark: StaticString = "", integer: Int, _ after: StaticString = ""
    ) {
        let before = before.utf8Span.span
        let length = before.count + mark.utf8CodeUnitCount + after.utf8CodeUnitCount
        append(name, upTo: length + Room.longestNumber) { room in
            room.append(onOneLine: before)
            room.append(mark)
            room.append(decimal: integer)
            room.append(after)
        }
    }

    /// Adds a field with a number.
    package mutating func append(_ name: StaticString, integer: Int) {
        append(name, "", integer: integer)
    }

    /// Adds lines of fields that were received and whose form was checked.
    mutating func append(lines: Span<UInt8>) {
        bytes.append(copying: lines)
    }

    /// Adds a field with a name and a value from anywhere; left out if the name is no token.
    package mutating func append(foreignName name: String, text: String) {
        guard !name.isEmpty, name.utf8.allSatisfy({ ByteSet.token.contains($0) }) else { return }
        let value = text.utf8Span.span
        bytes.append(contentsOf: name.utf8)
        bytes.append(": ")
        bytes.append(upTo: value.count) { $0.append(onOneLine: value) }
        bytes.append("\r\n")
    }

    /// Returns the value of the first field of a name, which is given in lower case; nil if there is none.
    package func value(of name: StaticString) -> String? {
        let span = bytes.span
        var lines = FieldLines(0..<bytes.count)
        while let line = lines.next(in: span) {
            if span.holds(ignoringCase: name, in: line.name) { return span.text(in: line.value) }
        }
        return nil
    }

    /// All fields in their order.
    package var all: [(name: String, value: String)] {
        let span = bytes.span
        var lines = FieldLines(0..<bytes.count)
        var fields: [(name: String, value: String)] = []
        while let line = lines.next(in: span) {
            fields.append((span.text(in: line.name), span.text(in: line.value)))
        }
        return fields
    }

    /// Adds all fields of another block.
    package mutating func append(_ other: FieldBlock) {
        bytes.append(contentsOf: other.bytes)
    }

    /// Adds a field with a value of at most so many bytes.
    @inline(__always)
    private mutating func append(
        _ name: StaticString, upTo length: Int, _ value: (inout Room) -> Void
    ) {
        assert(Self.isOfferedHere(name), "\(name) is no name of a field, or the writer's to send")
        bytes.append(upTo: name.utf8CodeUnitCount + length + 4) { room in
            room.append(name)
            room.append(": ")
            value(&room)
            room.append("\r\n")
        }
    }

    /// True if this is the name of a field, and none of those that `ResponseWriter` sends by itself.
    static func isOfferedHere(_ name: StaticString) -> Bool {
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
