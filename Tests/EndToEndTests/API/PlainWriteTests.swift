import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// Plain writes, which have no conditions and short bodies. The field X-Request-ID must not change their answers and
/// effects.
@Suite(.ownThread)
struct PlainWriteTests {
    private static let schema = """
        {"additionalProperties":false,"patternProperties":{"^x-":{}},"properties":{"count":{"type":"integer","maximum":10,
        "default":1},"theme":{"enum":["light","dark"]},"locked":{"type":"integer","readOnly":true,"default":1},
        "token":{"type":"string","writeOnly":true},"ratio":{"type":"number"}}}
        """
    private static let rules = """
        {"additionalProperties":false,"properties":{"tls":{"type":"boolean"},"certificate":{"type":"string"}},
        "dependentRequired":{"tls":["certificate"]}}
        """

    /// Each request is sent to one daemon unchanged and to another daemon with X-Request-ID.
    private static let requests: [Request] = [
        "PUT open/keys/a 1", "PUT open/keys/a 1", "PUT open/keys/a 2", "PUT open/keys/a null",
        "PUT open/keys/b \"text\"",
        "PUT open/keys/a%62c 1", "PUT open/keys/abc 2", "PUT open/keys/a%2Fb 1", "PUT open/keys/. 1",
        "PUT open/keys/%C3%A9 1",
        "PUT open/keys/a [1,{\"b\":[1.0,-0.0,1e300]}]", "PUT open/keys/a {\"b\":1,\"b\":2}",
        "PUT open/keys/a 12345678901234567890",
        "PUT open/keys/a", "PUT open/keys/a 1 2", "PUT .open/keys/a 1", "PUT op%65n/keys/a 3", "DELETE open/keys/a",
        "PUT open/keys/a 4", "PUT typed/keys/count 1", "PUT typed/schema " + Self.schema, "PUT typed/keys/count 1",
        "PUT typed/keys/count 2.0", "PUT typed/keys/count 2.5", "PUT typed/keys/count 11",
        "PUT typed/keys/theme \"light\"",
        "PUT typed/keys/theme \"blue\"", "PUT typed/keys/locked 2", "PUT typed/keys/token \"secret\"",
        "PUT typed/keys/token \"secret\"", "PUT typed/keys/token 1", "PUT typed/keys/ratio 1",
        "PUT typed/keys/ratio 1.5",
        "PUT typed/keys/x-any {}", "PUT typed/keys/other 1", "PUT broken/keys/count 11",
        "PUT broken/schema?onConflict=keep " + Self.schema, "PUT broken/keys/count 12", "PUT broken/keys/count 3",
        "PUT ruled/schema " + Self.rules, "PUT ruled/keys/tls true", "PUT ruled/keys/certificate \"c\"",
        "PUT ruled/keys/tls true", "PUT open/keys/a?dryRun 5", "PUT open/keys/a 6", "DELETE typed/schema",
        "PUT typed/keys/other 1",
    ]

    @Test("A plain write has the same answer and effect with and without the field X-Request-ID")
    func equal() throws {
        let (plain, other) = (try TestDaemon(), try TestDaemon())
        for request in Self.requests {
            var withID = request
            withID.fields.append("X-Request-ID: a")
            let (first, second) = (try plain.send(request), try other.send(withID))
            #expect(first.status == second.status, "\(request)")
            #expect(try Self.content(first) == Self.content(second), "\(request)")
            for field in ["ETag", "Settings-Source", "Allow"] {
                #expect(first.field(field) == second.field(field), "\(request)")
            }
            #expect(first.revision == second.revision, "\(request)")
        }
        for suite in ["open", "typed", "broken", "ruled"] {
            let request = Request("GET \(suite)/history?limit=1000")
            #expect(try Self.content(plain.done(request)) == Self.content(other.done(request)))
        }
    }

    @Test("Plain writes keep their order among the other requests of their connection")
    func order() throws {
        let daemon = try TestDaemon()
        try daemon.done("PUT app/keys/a 0")
        let client = try daemon.connect()
        let patch: Request = #"PATCH app/keys/a {"op":"add","by":1}"#
        var requests: [Request] = []
        for number in 1...100 { requests += [Request("PUT app/keys/a \(10 * number)"), patch, "GET app/keys/a?raw"] }
        try client.send(requests.flatMap(\.bytes))
        for number in 1...100 {
            for _ in 1...2 { #expect(try client.readResponse().status == 200) }
            #expect(try client.readResponse().text == "\(10 * number + 1)")
        }
    }

    /// The body without timestamps.
    private static func content(_ response: RawResponse) throws -> JSONValue {
        func plain(_ value: JSONValue) -> JSONValue {
            switch value {
            case .array(let elements): return .array(elements.map(plain))
            case .object(let object):
                var members = JSONObject()
                for member in object where !["modified", "time"].contains(member.name) {
                    members[member.name] = plain(member.value)
                }
                return .object(members)
            default: return value
            }
        }
        return plain(try JSONValue(parsing: response.body.span))
    }
}
