internal import Glibc

/// Names against bytes that came over the wire, without making a string of those.
extension String {
    /// Negative if this comes before the bytes, zero if it consists of them, positive if it comes after.
    func ordered(against bytes: Span<UInt8>) -> Int {
        let mine = utf8Span.span
        let shared = min(mine.count, bytes.count)
        let order = mine.withUnsafeBytes { left in
            bytes.withUnsafeBytes { right in
                if shared == 0 { return Int32(0) }
                guard let left = left.baseAddress, let right = right.baseAddress else { return 0 }
                return memcmp(left, right, shared)
            }
        }
        return order != 0 ? Int(order) : mine.count - bytes.count
    }

    func isOrderedAfter(_ bytes: Span<UInt8>) -> Bool {
        ordered(against: bytes) > 0
    }
}
