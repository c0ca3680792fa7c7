import HTTPWire
import Testing

struct PathSegmentsTests {
    @Test("A path is divided at its slashes, not at encoded ones")
    func segments() {
        let cases: [(String, [String])] = [
            ("", []), ("/", []), ("*", []), ("/v1", ["v1"]), ("/v1/", ["v1", ""]), ("//", ["", ""]),
            ("/v1/suites/app/keys/a%2Fb", ["v1", "suites", "app", "keys", "a%2Fb"]), ("/a//b", ["a", "", "b"]),
            ("/é/..", ["é", ".."]),
        ]
        for (path, expected) in cases {
            let bytes = Array("/x\(path)/y".utf8)
            var segments = PathSegments(2..<bytes.count - 2)
            var found: [String] = []
            while let segment = segments.next(in: bytes.span) { found.append(bytes.span.text(in: segment)) }
            #expect(found == expected, "\(path)")
        }
    }
}
