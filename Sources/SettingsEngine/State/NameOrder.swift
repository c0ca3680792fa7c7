extension Span<UInt8> {
    /// Compares these bytes with the UTF-8 bytes of a text: negative if they come first, zero if both are the same, positive if they
    /// come last.
    @inline(__always)
    func order(against text: String) -> Int {
        // A pointer to the bytes of the text takes a third of the time that a span of them takes.
        withUnsafeBytes { bytes in
            text.utf8.withContiguousStorageIfAvailable { bytes.order(against: UnsafeRawBufferPointer($0)) }
                ?? text.utf8Span.span.withUnsafeBytes { bytes.order(against: $0) }
        }
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
}
