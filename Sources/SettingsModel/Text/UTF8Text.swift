/// Comparing, hashing and ordering by UTF-8 bytes. Swift's own `==` treats two Unicode spellings of é as equal, where
/// programs in other languages see two names.
extension String {
    /// True if both strings consist of the same UTF-8 bytes.
    package func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8Span.span.hasSameBytes(as: other.utf8Span.span)
    }

    /// True if the bytes of this string come before those of the other. A prefix comes first.
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

    /// Adds the bytes and their number to a hasher.
    func hashBytes(into hasher: inout Hasher) {
        let span = utf8Span.span
        span.withUnsafeBytes { hasher.combine(bytes: $0) }
        hasher.combine(span.count)
    }

    /// True if the bytes of this string begin with those of `prefix`.
    package func hasBytePrefix(_ prefix: String) -> Bool {
        let span = utf8Span.span
        let wanted = prefix.utf8Span.span
        return wanted.count <= span.count && span.extracting(0..<wanted.count).hasSameBytes(as: wanted)
    }
}

extension Span<UInt8> {
    /// True if both spans hold the same bytes.
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

/// A string that is compared, hashed and ordered by its UTF-8 bytes, for keys of dictionaries.
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
    /// Adds all bytes of a span at once.
    mutating func append(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }
}

extension Unicode.Scalar {
    /// The scalar as `U+0009`, for messages about characters that cannot be shown.
    var codePointText: String {
        let digits = String(value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }
}

package enum Plural {
    /// Returns `1 character`, `2 characters`.
    package static func count(_ count: Int, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }
}

extension String {
    /// Returns the text, cut after a number of Unicode scalars.
    package func cut(to longest: Int) -> String {
        guard let end = unicodeScalars.index(startIndex, offsetBy: longest, limitedBy: endIndex), end < endIndex else {
            return self
        }
        return String(unicodeScalars[..<end]) + "…"
    }
}
