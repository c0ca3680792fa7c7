internal import HTTPWire
internal import SettingsModel

/// Where a path leads, with the names that stand in it still as they were sent.
struct Route {
    let resource: Resource
    /// The suite's name in the path.
    var suite: Range<Int>?
    /// The key's name in the path.
    var key: Range<Int>?

    /// The resource at a path; nil if there is none.
    init?(_ path: Range<Int>, in bytes: Span<UInt8>) {
        var segments = PathSegments(path, in: bytes)
        guard let first = segments.next(in: bytes) else { return nil }
        if bytes.spells("v1", in: first) {
            self.init(versioned: &segments, in: bytes)
        } else {
            let fixed: [(StaticString, Resource)] = [
                ("healthz", .health), ("readyz", .ready), ("metrics", .metrics), ("openapi.json", .description),
            ]
            guard let match = fixed.first(where: { bytes.spells($0.0, in: first) }) else { return nil }
            resource = match.1
        }
        guard segments.isAtEnd else { return nil }
    }

    private init?(versioned segments: inout PathSegments, in bytes: Span<UInt8>) {
        guard let collection = segments.next(in: bytes) else {
            resource = .service
            return
        }
        if bytes.spells("transaction", in: collection) {
            resource = .transaction
            return
        }
        guard bytes.spells("suites", in: collection) else { return nil }
        guard let suite = segments.next(in: bytes) else {
            resource = .suites
            return
        }
        guard !suite.isEmpty else { return nil }
        self.suite = suite
        guard let part = segments.next(in: bytes) else {
            resource = .suite
            return
        }
        if bytes.spells("schema", in: part) {
            resource = .schema
            return
        }
        guard bytes.spells("keys", in: part) else { return nil }
        guard let key = segments.next(in: bytes) else {
            resource = .keys
            return
        }
        guard !key.isEmpty else { return nil }
        self.key = key
        resource = .setting
    }
}

/// The segments of a path, one after the other.
struct PathSegments {
    private var position: Int
    private let end: Int

    /// The segments of a path that begins with a slash.
    init(_ path: Range<Int>, in bytes: Span<UInt8>) {
        position = path.lowerBound
        end = path.upperBound
    }

    /// Whether there is nothing left, not even an empty segment behind a slash.
    var isAtEnd: Bool { position == end }

    /// The next segment; nil at the end.
    mutating func next(in bytes: Span<UInt8>) -> Range<Int>? {
        guard position < end, bytes[position] == UInt8(ascii: "/") else { return nil }
        let start = position + 1
        position = start
        while position < end, bytes[position] != UInt8(ascii: "/") { position += 1 }
        return start..<position
    }
}

extension Span<UInt8> {
    /// Whether a range of the bytes spells a word.
    func spells(_ word: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { letters in
            for index in 0..<letters.count where letters[index] != self[range.lowerBound + index] { return false }
            return true
        }
    }
}
