/// The parameters of a query in their order, decoded: `a=b&c&d=`.
///
/// No parameter is left out: the caller refuses those that it does not know by name.
package struct QueryParameters: Equatable, Sendable {
    /// One `name=value`. A bare `name` has no value, `name=` an empty one; further equals signs belong to the value.
    package struct Parameter: Equatable, Sendable {
        package let name: String
        package let value: String?

        package init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    package let all: [Parameter]

    /// Reads the query in a range of the bytes; nil and an empty one have no parameters. It may end in a `&`.
    package init(_ bytes: Span<UInt8>, _ query: Range<Int>?) throws(QueryError) {
        guard let query, !query.isEmpty else {
            all = []
            return
        }
        var parameters: [Parameter] = []
        var start = query.lowerBound
        var nameBefore = start..<start
        repeat {
            var end = start
            var equals: Int?
            while end < query.upperBound, bytes[end] != UInt8(ascii: "&") {
                if equals == nil, bytes[end] == UInt8(ascii: "=") { equals = end }
                end += 1
            }
            // A name that is given hundreds of times is read once.
            let nameRange = start..<(equals ?? end)
            let isRepeated = bytes.isRepeated(nameBefore, in: nameRange)
            let name = if isRepeated, let last = parameters.last { last.name } else { try Self.name(bytes, nameRange) }
            let value = try equals.map { equals throws(QueryError) in try Self.value(bytes, equals + 1..<end, of: name)
            }
            parameters.append(Parameter(name: name, value: value))
            nameBefore = nameRange
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
    /// True if both ranges hold the same bytes.
    fileprivate func isRepeated(_ range: Range<Int>, in other: Range<Int>) -> Bool {
        guard range.count == other.count else { return false }
        for offset in 0..<range.count where self[range.lowerBound + offset] != self[other.lowerBound + offset] {
            return false
        }
        return true
    }
}

/// Why a query says nothing.
package enum QueryError: Error, Equatable, Sendable {
    /// Nothing stands between two `&`, at an end, or before a `=`.
    case missingName
    /// A name is not properly encoded.
    case badName(PercentDecodingError)
    /// The value of a parameter is not properly encoded.
    case badValue(name: String, PercentDecodingError)

    /// What is wrong and what to do, as a sentence without its full stop.
    package var reason: String {
        switch self {
        case .missingName: "the query has a parameter without a name; it is written name=value&name=value"
        case .badName(let error): "in the name of a query parameter, \(error.reason)"
        case .badValue(let name, let error): "in the query parameter \(name), \(error.reason)"
        }
    }
}

/// The segments of a path between its slashes, as ranges; still percent-encoded, so that a `%2F` in a name divides nothing.
///
/// `/` has none; `/v1/` has `v1` and an empty one, and `//` has two empty ones: they are other paths than `/v1` and `/`.
package struct PathSegments: Sendable {
    private var position: Int
    private let end: Int

    /// Goes through the path in this range of the bytes, which begins with a slash.
    package init(_ path: Range<Int>) {
        end = path.upperBound
        position = path.count > 1 ? path.lowerBound : end
    }

    /// The next segment; nil if there is none.
    package mutating func next(in bytes: Span<UInt8>) -> Range<Int>? {
        guard position < end else { return nil }
        let start = position + 1
        position = start
        while position < end, bytes[position] != UInt8(ascii: "/") { position += 1 }
        return start..<position
    }
}

/// Percent-encoding of RFC 3986, read strictly: `%XX` is a byte, all others are themselves, `+` too.
package enum PercentDecoding {
    /// The text that a range of the bytes encodes.
    package static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(PercentDecodingError) -> String {
        var index = range.lowerBound
        while index < range.upperBound, bytes[index] != UInt8(ascii: "%") { index += 1 }
        // Most segments have nothing encoded: they are checked and copied once.
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

/// Why a percent-encoded text says nothing.
package enum PercentDecodingError: Error, Equatable, Sendable {
    /// A `%` without two hexadecimal digits after it.
    case malformedEscape
    /// The bytes are not UTF-8.
    case invalidUTF8

    /// What is wrong and what to do, as a sentence without its full stop.
    package var reason: String {
        switch self {
        case .malformedEscape: "'%' must be followed by two hexadecimal digits; a '%' itself is written %25"
        case .invalidUTF8: "the percent-encoded bytes must be UTF-8"
        }
    }
}
