internal import SettingsAPI

/// A cache of the credential fields that recent requests of one event loop contained, with the callers of their tokens.
///
/// ``AccessPolicy``, which has the grants of all tokens, finds a token by its SHA-256 digest. Without this cache,
/// hashing the token of each request would be the largest part of the processor time that access control takes. Owned
/// by the event loop, which replaces the cache when a reload replaces the policy.
struct RecentTokens {
    /// The field of a request that contains a token.
    enum Field {
        case authorization, apiKey
    }

    private struct Entry {
        let field: Field
        let value: [UInt8]
        let caller: Caller
    }

    /// The entries by the hash of the value. A later value with the same hash replaces the entry.
    private var entries: [Int: Entry] = [:]

    private static let maximumCount = 256

    /// Returns the caller for the value of a field from the cache, otherwise from `find`; nil if `find` returns nil.
    mutating func caller(
        of field: Field, _ value: Span<UInt8>, find: () throws(Problem) -> Caller?
    ) throws(Problem) -> Caller? {
        var hasher = Hasher()
        value.withUnsafeBufferPointer { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        let hash = hasher.finalize()
        if let entry = entries[hash], entry.field == field, Self.isEqual(entry.value.span, value) {
            return entry.caller
        }
        guard let caller = try find() else { return nil }
        if entries.count >= Self.maximumCount { entries = [:] }
        entries[hash] = Entry(field: field, value: value.withUnsafeBufferPointer { Array($0) }, caller: caller)
        return caller
    }

    /// Compares all bytes, so that the time does not depend on the position of the first different byte.
    private static func isEqual(_ first: Span<UInt8>, _ second: Span<UInt8>) -> Bool {
        guard first.count == second.count else { return false }
        var difference: UInt8 = 0
        for index in first.indices { difference |= first[index] ^ second[index] }
        return difference == 0
    }
}
