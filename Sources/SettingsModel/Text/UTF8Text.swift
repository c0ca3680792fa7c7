/// Comparison, hashing and order by UTF-8 bytes. Swift's `==` treats two Unicode spellings of é as equal, but programs
/// in other languages treat them as different names.
extension String {
    /// True if both strings consist of the same UTF-8 bytes.
    package func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8Span.span.hasSameBytes(as: other.utf8Span.span)
    }

    /// True if the bytes of this string come before the bytes of the other string. A prefix of a string comes before
    /// the string.
    package func precedesInBytes(_ other: String) -> Bool {
        let mine = utf8Span.span
        let theirs = other.utf8Span.span
        let shared = min(mine.count, theirs.count)
        var index = 0
        while index < shared {
            if mine[index] != theirs[index] { return mine[index] < theirs[index] }
            index += 1
        }
        return mine.count < theirs.count
    }

    /// Adds the number of bytes and the bytes to a hasher.
    func hashBytes(into hasher: inout Hasher) {
        let span = utf8Span.span
        span.withUnsafeBytes { hasher.combine(bytes: $0) }
        hasher.combine(span.count)
    }

    /// True if the bytes of this string begin with the bytes of `prefix`.
    package func hasBytePrefix(_ prefix: String) -> Bool {
        let span = utf8Span.span
        let wanted = prefix.utf8Span.span
        return wanted.count <= span.count && span.extracting(0..<wanted.count).hasSameBytes(as: wanted)
    }

    /// Returns the longest prefix of whole Unicode scalars that has at most this number of bytes.
    package func prefix(maximumBytes: Int) -> String {
        guard utf8.count > maximumBytes else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: maximumBytes)
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}

extension Span<UInt8> {
    /// True if both spans have the same bytes.
    package func hasSameBytes(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var index = 0
        while index < count {
            if self[index] != other[index] { return false }
            index += 1
        }
        return true
    }
}

/// A string that is compared, hashed and ordered by its UTF-8 bytes. It is the type of dictionary keys that are names.
package struct UTF8Text: Hashable, Comparable, Sendable {
    package let string: String

    package init(_ string: String) {
        self.string = string
    }

    package static func == (left: UTF8Text, right: UTF8Text) -> Bool {
        left.string.hasSameBytes(as: right.string)
    }

    package static func < (left: UTF8Text, right: UTF8Text) -> Bool {
        left.string.precedesInBytes(right.string)
    }

    package func hash(into hasher: inout Hasher) {
        string.hashBytes(into: &hasher)
    }
}

extension [UInt8] {
    mutating func append(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }
}

extension Unicode.Scalar {
    /// The scalar in the form `U+0009`, for messages about characters that cannot be displayed.
    var codePointText: String {
        let digits = String(value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }
}

/// Formats a number with a noun, for messages.
package enum Plural {
    /// Returns the number with its noun: `1 character`, `2 characters`.
    package static func count(_ count: Int, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }
}

extension String {
    /// Returns the text. If it has more than `longest` Unicode scalars, returns the first `longest` scalars and an
    /// ellipsis.
    package func cut(to longest: Int) -> String {
        guard let end = unicodeScalars.index(startIndex, offsetBy: longest, limitedBy: endIndex), end < endIndex else {
            return self
        }
        return String(unicodeScalars[..<end]) + "…"
    }
}
