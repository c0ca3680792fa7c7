import SettingsModel
import TestSupport
import Testing

/// The rights that the evaluation of OpenFeature flags requires. A flag is a setting of a suite. The caller `all` of
/// `ProtectedDaemon` has every right. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct FlagAccessTests {
    static let given: [Request] = [
        #"PUT app/schema {"additionalProperties":{},"properties":{"s":{"writeOnly":true,"default":"dull"}}}"#,
        #"PUT app {"a":1,"b":2,"s":"hunter2"}"#,
    ]
    static let grants = [
        "reader": ["app:read"], "some": ["app/a:read"], "secrets": ["app:secrets"], "other": ["net:read"],
    ]

    /// A request to evaluate a flag; all flags if `key` is empty.
    static func evaluate(_ key: String) -> Request {
        Request("POST app/ofrep/v1/evaluate/flags\(key.isEmpty ? "" : "/\(key)") {\"context\":{}}")
    }

    @Test(
        "Without the right to read, an evaluation is refused in the form of the OpenFeature protocol",
        arguments: ["a", "none", ""])
    func refusals(key: String) throws {
        let protected = try ProtectedDaemon(Self.grants, given: Self.given)
        for (name, status) in [(nil, 401), ("wrong", 401), ("other", 403)] {
            let answer = try protected.send(Self.evaluate(key), as: name)
            #expect(answer.status == status && answer.type == "application/json", "\(answer.text)")
            #expect(answer.json?["errorCode"] == "GENERAL" && answer.json?["errorDetails"]?.string?.isEmpty == false)
            #expect(answer.json?["key"]?.string == (key.isEmpty ? nil : key))
            #expect(answer.field("WWW-Authenticate") == (status == 401 ? "Bearer" : nil))
        }
        let events = try protected.send("GET app/ofrep/v1/events", as: "other")
        #expect(events.status == 403 && events.json?["errorCode"] == "GENERAL")
        #expect(try protected.send(Self.evaluate("b"), as: "some").status == 403)
    }

    @Test("An evaluation hides secrets and keys that the caller may not read, and shows them to callers with the right")
    func hidden() throws {
        let protected = try ProtectedDaemon(Self.grants, given: Self.given)
        let readableKeys = ["reader": ["a", "b"], "some": ["a"], "secrets": ["a", "b", "s"], "all": ["a", "b", "s"]]
        // The second answer may come from the cache.
        for _ in 1...2 {
            for (name, keys) in readableKeys {
                let answer = try protected.send(Self.evaluate(""), as: name)
                #expect(answer.json?["flags"]?.array?.compactMap { $0["key"]?.string } == keys, "\(name)")
                #expect(keys.contains("s") || !answer.text.contains("hunter2"))
            }
        }
        let secret = try protected.send(Self.evaluate("s"), as: "reader")
        #expect(secret.status == 404 && secret.json?["errorCode"] == "FLAG_NOT_FOUND")
        #expect(!secret.text.contains("hunter2"))
        #expect(try protected.send(Self.evaluate("s"), as: "secrets").json?["value"] == "hunter2")
    }

    @Test("X-API-Key is accepted as a token for flags and for other requests; Authorization has priority")
    func key() throws {
        let protected = try ProtectedDaemon(Self.grants, given: Self.given)
        func send(_ request: Request, _ fields: String...) throws -> RawResponse {
            var request = request
            request.fields += fields
            return try protected.daemon.send(request)
        }
        let key = "X-API-Key: \(protected.tokens["reader"] ?? "")"
        #expect(try send(Self.evaluate("a"), key).json?["value"] == 1)
        #expect(try send("GET /v1/caller", key).json?["name"] == "token:reader")
        #expect(try send("PUT app/keys/a 2", key).status == 403)
        #expect(try send(Self.evaluate("a"), "X-API-Key: wrong").status == 401)
        #expect(try send(Self.evaluate("a"), "X-API-Key:").status == 401)
        #expect(try send(Self.evaluate("a"), "X-API-Key: Bearer \(protected.tokens["reader"] ?? "")").status == 401)
        #expect(try send(Self.evaluate("a"), key, "Authorization: Bearer wrong").status == 401)
        let otherToken = "Authorization: Bearer \(protected.tokens["some"] ?? "")"
        #expect(try send("GET /v1/caller", key, otherToken).json?["name"] == "token:some")
    }

    @Test("On one connection, X-API-Key refuses a token after `Bearer`, and Authorization a token without `Bearer`")
    func confusedFields() throws {
        let protected = try ProtectedDaemon(Self.grants, given: Self.given)
        let connection = try protected.daemon.connect()
        func status(_ field: String) throws -> Int {
            try connection.send("GET /v1/caller HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n\r\n")
            return try connection.readResponse().status
        }
        let token = protected.tokens["reader"] ?? ""
        #expect(try status("X-API-Key: \(token)") == 200)
        #expect(try status("Authorization: \(token)") == 401)
        #expect(try status("Authorization: Bearer \(token)") == 200)
        #expect(try status("X-API-Key: Bearer \(token)") == 401)
    }
}
