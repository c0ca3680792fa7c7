import HTTPWire
import Testing

struct QueryParametersTests {
    typealias Parameter = QueryParameters.Parameter

    private static func parse(_ query: String) throws(QueryError) -> [Parameter] {
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

    @Test("Names and values come in order, decoded, bare names without a value")
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
        #expect(try QueryParameters(Array("a".utf8).span, nil).all.isEmpty)
    }

    @Test(
        "What says nothing is refused and named",
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
