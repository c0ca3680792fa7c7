extension [UInt8] {
    /// Adds all bytes of a span at once.
    mutating func append(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }
}
