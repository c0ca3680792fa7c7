import Foundation
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import SettingsWeb
import TestSupport
import Testing

/// Waiting requests end when the token of their caller is revoked or expires. The token `all` of `ProtectedDaemon` has
/// every right and stays valid. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct CredentialEndTests {
    /// `CURSOR` stands for the current cursor. The suite `none` does not exist, so its watcher waits for its creation.
    static let waits: [Request] = [
        "GET app/observe?since=CURSOR&wait=300", "GET app/keys/a?wait=300", "GET none/observe?wait=300",
        "GET /v1/observe?suitePrefix=&since=CURSOR&wait=300",
    ]

    @Test("A long poll or a read with `wait` returns 401 when its token is revoked", arguments: waits)
    func revoked(request: Request) throws {
        let protected = try ProtectedDaemon(["ci": ["*:read"]], given: ["PUT app/keys/a 1"])
        var request = protected.authorized(request, as: "ci")
        request.target = request.target.replacing(
            "CURSOR", with: "\(try protected.send("GET app", as: "ci").cursorText)")
        if request.target.contains("keys/a") { request.fields.append("If-None-Match: *") }
        let peer = try WaitingClient(protected, request)
        let other = try WaitingClient(protected, protected.authorized("GET none/observe?wait=300", as: "all"))
        try protected.changeTokens { (file: inout TokenFile) throws(ConfigurationError) in try file.revoke("ci") }
        let answer = try peer.answer()
        #expect(answer.status == 401)
        #expect(answer.field("WWW-Authenticate") == "Bearer")
        #expect(!other.client.isReadable, "the request of another caller must still wait")
        #expect(try protected.send("GET app", as: "ci").status == 401)
    }

    @Test("When a token expires, its long poll returns 401 and its event stream ends")
    func expired() throws {
        let protected = try ProtectedDaemon([:], given: ["PUT app/keys/a 1"])
        var token = ""
        try protected.changeTokens { (file: inout TokenFile) throws(ConfigurationError) in
            guard let read = try? Grant("*:read") else { return }
            token = try file.create("short", [read], expires: .now(afterMilliseconds: 2000), now: Timestamp.now())
        }
        let field = "Authorization: Bearer \(token)"
        let stream = try protected.daemon.stream(Request("GET app/observe", field))
        _ = try stream.event()
        let peer = try WaitingClient(protected, Request("GET none/observe?wait=300", field))
        #expect(try peer.answer().status == 401)
        #expect(try stream.event() == nil)
        let refused = try protected.daemon.send(Request("GET app", field))
        #expect(refused.status == 401)
        #expect(refused.json?["detail"]?.string?.hasPrefix("the token expired at ") == true)
    }

    @Test("An event stream ends when its token is revoked or gets other grants")
    func streams() throws {
        let protected = try ProtectedDaemon(["ci": ["*:read"], "other": ["*:read"]], given: ["PUT app/keys/a 1"])
        let streams = try ["ci", "other"].map { name in
            let stream = try protected.daemon.stream(protected.authorized("GET app/observe", as: name))
            _ = try stream.event()
            return stream
        }
        try protected.changeTokens { (file: inout TokenFile) throws(ConfigurationError) in
            try file.revoke("ci")
            file.tokens[file.tokens.firstIndex { $0.name == "other" } ?? 0].grants = (try? [Grant("b:read")]) ?? []
        }
        for stream in streams { #expect(try stream.event() == nil) }
    }

    @Test("A reload that revokes a token ends 700 waits with that token and no other wait")
    func many() throws {
        let protected = try ProtectedDaemon(["ci": ["*:read"]], given: ["PUT app/keys/a 1"])
        let request = protected.authorized("GET none/observe?wait=300", as: "ci")
        let other = try WaitingClient(protected, protected.authorized("GET none/observe?wait=300", as: "all"))
        // In one iteration, an event loop checks the credentials of only 512 waiting requests.
        let peers = try (0..<700).map { _ in
            let client = try protected.daemon.connect()
            try client.send(request.bytes)
            return client
        }
        // The daemon counts the 700 requests and the request of the caller `all`.
        try eventually { try protected.send("GET /metrics", as: "all").text.contains("\nsettingsd_watchers 701\n") }
        try protected.changeTokens { (file: inout TokenFile) throws(ConfigurationError) in try file.revoke("ci") }
        for peer in peers { #expect(try peer.readResponse().status == 401) }
        #expect(!other.client.isReadable)
    }

    @Test("A reload with a malformed token file changes nothing and returns the reason")
    func failing() throws {
        let protected = try ProtectedDaemon(["ci": ["*:read"]], given: ["PUT app/keys/a 1"])
        try "{".write(toFile: protected.tokenFile, atomically: false, encoding: .utf8)
        let answer = try protected.send("POST /v1/reload", as: "all")
        #expect(answer.status == 422)
        #expect(answer.json?["detail"]?.string?.contains("tokens.json") == true, "\(answer.text)")
        #expect(try protected.send("GET app", as: "ci").status == 200)
    }
}
