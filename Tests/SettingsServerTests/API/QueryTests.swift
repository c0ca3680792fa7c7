import HTTPWire
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsServer

@Suite(.ownThread)
struct QueryTests {
    private static func query(_ text: String, _ resource: Resource, _ method: HTTPWire.Method) throws -> Query {
        let bytes = Array(text.utf8)
        return try Query(try QueryParameters(bytes.span, 0..<bytes.count), for: resource, method)
    }

    @Test(
        "A flag is bare, true or false",
        arguments: [("raw", true), ("raw=true", true), ("raw=false", false), ("", false), ("prefix=raw", false)])
    func flags(text: String, isOn: Bool) throws {
        #expect(try Self.query(text, .suite, .get).flag(.raw) == isOn)
    }

    @Test("Each parameter has a value of its kind")
    func values() throws {
        let query = try Self.query("prefix=a%26b%3D&view=stored&at=17", .suite, .get)
        #expect(query.text(.prefix) == "a&b=")
        #expect(query.text(.view) == "stored")
        #expect(query.revision(.at) == Revision(17))
        #expect(try Self.query("limit=100000&after=x", .suites, .head).count(.limit) == 100_000)
        #expect(try Self.query("prefix=", .suite, .get).text(.prefix) == "")
        #expect(try Self.query("view=stored", .suite, .get).text(.prefix) == nil)
    }

    static let refused: [(text: String, resource: Resource, method: HTTPWire.Method, hint: String)] = [
        ("raw=1", .suite, .get, "raw must be true or false, or nothing, but is \"1\""),
        ("raw=", .suite, .get, "raw must be true or false, or nothing, but is \"\""),
        ("raw=TRUE", .suite, .get, "raw must be"), ("raw&raw", .suite, .get, "raw is given twice"),
        ("raw&%72aw", .suite, .get, "raw is given twice"), ("prefix", .suite, .get, "prefix needs a value"),
        ("at", .suite, .get, "at must be a revision such as 17, but is empty"), ("at=-1", .suite, .get, "at must be"),
        ("at=01", .suite, .get, "at must be"), ("at=9223372036854775808", .suite, .get, "at must be"),
        ("limit=0", .keys, .get, "limit must be 1 to 100000, but is \"0\""),
        ("limit=100001", .keys, .get, "limit must be"),
        ("limit=1.5", .keys, .get, "limit must be"), ("limit=+5", .keys, .get, "limit must be"),
        ("limit=", .keys, .get, "limit must be"),
        ("view", .suite, .get, "view must be effective or stored or default"),
        ("override=lock", .setting, .put, "override must be locked"),
        ("onConflict=refuse", .schema, .put, "onConflict must be keep or reset"),
        ("limt=1", .keys, .get, "did you mean limit?"), ("Limit=1", .keys, .get, "did you mean limit?"),
        ("nothing=1", .health, .get, "there are none here"), ("raw", .setting, .put, "no parameter raw"),
        ("onConflict=keep", .schema, .delete, "no parameter onConflict"), ("drop", .suite, .put, "no parameter drop"),
    ]

    @Test("What is unknown, given twice or of another kind is refused by its name", arguments: refused)
    func refusals(text: String, resource: Resource, method: HTTPWire.Method, hint: String) {
        let problem = #expect(throws: Problem.self) { try Self.query(text, resource, method) }
        #expect(problem?.code == .badRequest)
        #expect(problem?.detail.contains(hint) ?? false, "\(problem?.detail ?? "")")
    }
}
