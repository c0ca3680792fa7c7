/// The tokens that requests of one event loop had lately, with their callers.
///
/// The policy knows tokens by their SHA-256 digests. Without this cache, the digest of each request's token would be the
/// largest part of the processor time that access control takes. Owned by the event loop, which replaces the cache when a
/// reload replaces the policy.
struct RecentTokens {
    private struct Entry {
        let token: [UInt8]
        let caller: Caller
    }

    private var entries: [Int: Entry] = [:]

    private static let maximumCount = 256

    /// Returns the caller of a token; nil if `find` does not know the token.
    mutating func caller(of token: Span<UInt8>, find: () -> Caller?) -> Caller? {
        var hasher = Hasher()
        token.withUnsafeBufferPointer { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        let hash = hasher.finalize()
        if let entry = entries[hash], Self.isEqual(entry.token.span, token) { return entry.caller }
        guard let caller = find() else { return nil }
        if entries.count >= Self.maximumCount { entries = [:] }
        entries[hash] = Entry(token: token.withUnsafeBufferPointer { Array($0) }, caller: caller)
        return caller
    }

    /// Compares all bytes, so that the time does not depend on where two tokens of one length differ.
    private static func isEqual(_ first: Span<UInt8>, _ second: Span<UInt8>) -> Bool {
        guard first.count == second.count else { return false }
        var difference: UInt8 = 0
        for index in first.indices { difference |= first[index] ^ second[index] }
        return difference == 0
    }
}
