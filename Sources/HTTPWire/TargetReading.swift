/// The decoded parameters of a query such as `a=b&c&d=`, in their order, including parameters with unknown names.
package struct QueryParameters: Equatable, Sendable {
    /// A parameter. `name` has the value nil, `name=` has an empty value, and `name=a=b` has the value `a=b`.
    package struct Parameter: Equatable, Sendable {
        package let name: String
        package let value: String?

        package init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    package let all: [Parameter]

    /// Parses the query in a range of the bytes. The query may be nil or empty, and may end with `&`.
    package init(_ bytes: Span<UInt8>, _ query: Range<Int>?) throws(QueryError) {
        guard let query, !query.isEmpty else {
            all = []
            return
        }
        var parameters: [Parameter] = []
        var start = query.lowerBound
        var previousNameRange = start..<start
        repeat {
            var end = start
            var equals: Int?
            while end < query.upperBound, bytes[end] != UInt8(ascii: "&") {
                if equals == nil, bytes[end] == UInt8(ascii: "=") { equals = end }
                end += 1
            }
            // Consecutive parameters with the same name share one decoded string.
            let nameRange = start..<(equals ?? end)
            let isRepeated = bytes.hasEqualBytes(in: previousNameRange, and: nameRange)
            let name = if isRepeated, let last = parameters.last { last.name } else { try Self.name(bytes, nameRange) }
            let value = try equals.map { equals throws(QueryError) in try Self.value(bytes, equals + 1..<end, of: name)
            }
            parameters.append(Parameter(name: name, value: value))
            previousNameRange = nameRange
            start = end + 1
        } while start < query.upperBound
        all = parameters
    }

    private static func name(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(QueryError) -> String {
        guard !range.isEmpty else { throw .missingName }
        do {
            return try PercentDecoding.text(bytes, range)
        } catch {
            throw .badName(error)
        }
    }

    private static func value(_ bytes: Span<UInt8>, _ range: Range<Int>, of name: String) throws(QueryError) -> String {
        do {
            return try PercentDecoding.text(bytes, range)
        } catch {
            throw .badValue(name: name, error)
        }
    }
}

extension Span<UInt8> {
    fileprivate func hasEqualBytes(in range: Range<Int>, and other: Range<Int>) -> Bool {
        guard range.count == other.count else { return false }
        for offset in 0..<range.count where self[range.lowerBound + offset] != self[other.lowerBound + offset] {
            return false
        }
        return true
    }
}

/// The reason why a query cannot be parsed.
package enum QueryError: Error, Equatable, Sendable {
    /// A parameter is empty, or begins with `=`.
    case missingName
    /// The name of a parameter is not valid percent-encoding.
    case badName(PercentDecodingError)
    /// The value of a parameter is not valid percent-encoding.
    case badValue(name: String, PercentDecodingError)

    /// The fault and how to correct it, as a sentence without a full stop.
    package var reason: String {
        switch self {
        case .missingName: "each parameter of the query must have a name, as in name=value&name=value"
        case .badName(let error): "the name of a query parameter is not valid: \(error.reason)"
        case .badValue(let name, let error): "the value of the query parameter \(name) is not valid: \(error.reason)"
        }
    }
}

/// The segments of a path as byte ranges. They remain percent-encoded, so `%2F` does not divide a segment.
///
/// The path `/` has no segments, `/v1/` has the segment `v1` and an empty segment, and `//` has two empty segments.
package struct PathSegments: Sendable {
    private var position: Int
    private let end: Int

    /// Iterates over the path in a range of the bytes. The path begins with a slash.
    package init(_ path: Range<Int>) {
        end = path.upperBound
        position = path.count > 1 ? path.lowerBound : end
    }

    /// Returns the next segment, or nil at the end of the path.
    package mutating func next(in bytes: Span<UInt8>) -> Range<Int>? {
        guard position < end else { return nil }
        let start = position + 1
        position = start
        while position < end, bytes[position] != UInt8(ascii: "/") { position += 1 }
        return start..<position
    }
}

/// A decoder of the percent-encoding of RFC 3986. It decodes each `%XX`. All other bytes are unchanged, including `+`.
package enum PercentDecoding {
    package static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(PercentDecodingError) -> String {
        var index = range.lowerBound
        while index < range.upperBound, bytes[index] != UInt8(ascii: "%") { index += 1 }
        // Most texts contain no escape, so they need no intermediate copy.
        if index == range.upperBound { return try validated(bytes.extracting(range)) }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(range.count)
        decoded.append(copying: bytes.extracting(range.lowerBound..<index))
        while index < range.upperBound {
            let byte = bytes[index]
            if byte != UInt8(ascii: "%") {
                decoded.append(byte)
                index += 1
            } else if range.upperBound - index >= 3, let high = bytes[index + 1].hexadecimalValue,
                let low = bytes[index + 2].hexadecimalValue
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                throw .malformedEscape
            }
        }
        return try validated(decoded.span)
    }

    private static func validated(_ bytes: Span<UInt8>) throws(PercentDecodingError) -> String {
        do {
            return String(copying: try UTF8Span(validating: bytes))
        } catch {
            throw .invalidUTF8
        }
    }
}

/// The reason why a percent-encoded text cannot be decoded.
package enum PercentDecodingError: Error, Equatable, Sendable {
    /// A `%` is not followed by two hexadecimal digits.
    case malformedEscape
    /// The decoded bytes are not valid UTF-8.
    case invalidUTF8

    /// The fault and how to correct it, as a sentence without a full stop.
    package var reason: String {
        switch self {
        case .malformedEscape: "'%' must be followed by two hexadecimal digits; write a literal '%' as %25"
        case .invalidUTF8: "the percent-encoded bytes must be UTF-8"
        }
    }
}
