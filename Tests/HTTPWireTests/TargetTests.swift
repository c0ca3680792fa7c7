import HTTPWire
import Testing

struct PathSegmentsTests {
    @Test("A path is divided at its slashes, and not at encoded slashes")
    func segments() {
        let cases: [(String, [String])] = [
            ("", []), ("/", []), ("*", []), ("/v1", ["v1"]), ("/v1/", ["v1", ""]), ("//", ["", ""]),
            ("/v1/suites/app/keys/a%2Fb", ["v1", "suites", "app", "keys", "a%2Fb"]), ("/a//b", ["a", "", "b"]),
            ("/é/..", ["é", ".."]),
        ]
        for (path, expected) in cases {
            // The bytes before and after the path show that the iterator reads only the given range.
            let bytes = Array("/x\(path)/y".utf8)
            var segments = PathSegments(2..<bytes.count - 2)
            var found: [String] = []
            while let segment = segments.next(in: bytes.span) { found.append(bytes.span.text(in: segment)) }
            #expect(found == expected, "\(path)")
        }
    }
}

struct PercentDecodingTests {
    private static func decode(_ bytes: [UInt8]) throws(PercentDecodingError) -> String {
        // The bytes before and after the text show that only the given range is decoded.
        let surrounded = Array("41%".utf8) + bytes + Array("41%".utf8)
        return try PercentDecoding.text(surrounded.span, 3..<surrounded.count - 3)
    }

    private static func failure(_ bytes: [UInt8]) -> PercentDecodingError? {
        do throws(PercentDecodingError) {
            _ = try decode(bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "Encoded bytes are decoded once, and all other bytes are unchanged",
        arguments: [
            ("", ""), ("player.volume", "player.volume"), ("a+b", "a+b"), ("a%2Bb", "a+b"), ("%2F", "/"), ("%2f", "/"),
            ("%41%42", "AB"), ("%C3%A9", "é"), ("é", "é"), ("%25", "%"), ("%2541", "%41"), ("x%20y", "x y"),
            ("%00", "\0"), ("%F0%9F%98%80", "😀"), ("é%C3%A9", "éé"), ("~!@$&'()*,;=:", "~!@$&'()*,;=:"),
        ])
    func decoded(_ encoded: String, _ expected: String) throws {
        let decoded = try Self.decode(Array(encoded.utf8))
        #expect(Array(decoded.utf8) == Array(expected.utf8))
    }

    @Test(
        "A '%' without two hexadecimal digits is refused",
        arguments: ["%", "%4", "%4g", "%g4", "a%", "%%41", "%+1", "% 1", "%u0041", "%4%31", "é%"])
    func malformed(_ encoded: String) {
        #expect(Self.failure(Array(encoded.utf8)) == .malformedEscape)
    }

    @Test(arguments: [
        Array("%FF".utf8), Array("%C3".utf8), Array("%C3x".utf8), Array("%C0%80".utf8), Array("%ED%A0%80".utf8),
        [0xFF], [0xC3], [0x61, 0xC0, 0x80], [0xC3] + Array("%".utf8) + Array("41".utf8),
    ])
    func `Bytes that are not UTF-8 are refused, encoded or not`(_ encoded: [UInt8]) {
        #expect(Self.failure(encoded) == .invalidUTF8)
    }

    @Test("The reason of a percent-decoding error says how to write the text correctly")
    func reasons() {
        #expect(PercentDecodingError.malformedEscape.reason.contains("%25"))
        #expect(PercentDecodingError.invalidUTF8.reason.contains("UTF-8"))
    }
}

struct QueryParametersTests {
    typealias Parameter = QueryParameters.Parameter

    private static func parse(_ query: String) throws(QueryError) -> [Parameter] {
        // The bytes before and after the query, which are not valid parameters, show that only the range is parsed.
        let bytes = Array("&=\(query)&=".utf8)
        return try QueryParameters(bytes.span, 2..<bytes.count - 2).all
    }

    private static func failure(_ query: String) -> QueryError? {
        do throws(QueryError) {
            _ = try parse(query)
            return nil
        } catch {
            return error
        }
    }

    @Test("Query parameters are returned decoded and in order, and bare names have no value")
    func parameters() throws {
        let cases: [(String, [Parameter])] = [
            ("", []),
            ("raw", [Parameter(name: "raw", value: nil)]),
            ("raw=", [Parameter(name: "raw", value: "")]),
            (
                "a=b&c&d=",
                [
                    Parameter(name: "a", value: "b"), Parameter(name: "c", value: nil), Parameter(name: "d", value: ""),
                ]
            ),
            ("a=b=c==", [Parameter(name: "a", value: "b=c==")]),
            ("a=1&a=2", [Parameter(name: "a", value: "1"), Parameter(name: "a", value: "2")]),
            ("%61%3D=%26+%C3%A9", [Parameter(name: "a=", value: "&+é")]),
            ("a=/?;:@", [Parameter(name: "a", value: "/?;:@")]),
        ]
        for (query, expected) in cases {
            #expect(try Self.parse(query) == expected, "\(query)")
        }
        // The range is nil if the target has no query.
        #expect(try QueryParameters(Array("a".utf8).span, nil).all.isEmpty)
    }

    @Test(
        "A malformed query parameter is refused; the error of a malformed value names the parameter",
        arguments: [
            ("&", QueryError.missingName), ("&a", .missingName), ("a&&b", .missingName),
            ("=", .missingName), ("=a", .missingName), ("a=b&=c", .missingName),
            ("%=a", .badName(.malformedEscape)), ("a&%FF", .badName(.invalidUTF8)),
            ("a=%", .badValue(name: "a", .malformedEscape)), ("%C3%A9=%C3", .badValue(name: "é", .invalidUTF8)),
        ])
    func refused(_ query: String, _ expected: QueryError) {
        #expect(Self.failure(query) == expected)
        #expect(!expected.reason.isEmpty)
    }
}
