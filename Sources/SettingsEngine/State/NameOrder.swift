// The names of suites (sets of settings) and of keys are ordered by their UTF-8 bytes.

extension Span<UInt8> {
    /// Compares these bytes with the UTF-8 bytes of a text in lexicographic order. Returns a negative number if these
    /// bytes come first, zero if both are equal, and a positive number if the text comes first.
    @inline(__always)
    func order(against text: String) -> Int {
        withUnsafeBytes { bytes in text.withUTF8Bytes { bytes.order(against: $0) } }
    }

    /// The length of the longest common prefix of these bytes and the UTF-8 bytes of a text, at most `limit`.
    func sharedPrefixLength(with text: String, atMost limit: Int) -> Int {
        withUnsafeBytes { bytes in text.withUTF8Bytes { bytes.sharedPrefixLength(with: $0, atMost: limit) } }
    }

    /// The eight bytes after the first `prefixLength` bytes, as a big-endian number, so that the order of the numbers
    /// is the order of the bytes. Zeros replace missing bytes.
    @inline(__always)
    func head(afterPrefix prefixLength: Int) -> UInt64 { withUnsafeBytes { $0.head(afterPrefix: prefixLength) } }
}

extension String {
    /// Calls the body with the UTF-8 bytes of the text. If the string has contiguous storage, the body gets a pointer
    /// to this storage, because access through a span takes three times as long.
    @inline(__always)
    fileprivate func withUTF8Bytes(_ body: (UnsafeRawBufferPointer) -> Int) -> Int {
        utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
            ?? utf8Span.span.withUnsafeBytes(body)
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func order(against other: Self) -> Int {
        let shared = Swift.min(count, other.count)
        var index = 0
        while index + 8 <= shared {
            let left = UInt64(bigEndian: loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let right = UInt64(bigEndian: other.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            if left != right { return left < right ? -1 : 1 }
            index += 8
        }
        while index < shared {
            if self[index] != other[index] { return self[index] < other[index] ? -1 : 1 }
            index += 1
        }
        return count - other.count
    }

    fileprivate func sharedPrefixLength(with other: Self, atMost limit: Int) -> Int {
        let end = Swift.min(count, other.count, limit)
        var index = 0
        while index < end, self[index] == other[index] { index += 1 }
        return index
    }

    fileprivate func head(afterPrefix prefixLength: Int) -> UInt64 {
        let available = count - prefixLength
        guard available > 0 else { return 0 }
        if available >= 8 { return UInt64(bigEndian: loadUnaligned(fromByteOffset: prefixLength, as: UInt64.self)) }
        var head: UInt64 = 0
        for index in prefixLength..<count { head = head << 8 | UInt64(self[index]) }
        return head << UInt64(8 * (8 - available))
    }
}
