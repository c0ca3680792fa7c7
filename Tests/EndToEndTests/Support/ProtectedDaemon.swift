import Foundation
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsStorage
import SettingsWeb
import TestSupport
import Testing

/// A daemon with access control and tokens with different grants.
final class ProtectedDaemon {
    let daemon: TestDaemon
    let tokenFile: String
    let tokens: [String: String]

    /// - Parameters:
    ///   - grants: The grants of each token by its name. A token with the name `expired` has already expired.
    ///   - given: Requests that are sent first, with the additional token `all`, which has every right.
    init(
        _ grants: [String: [String]], given: [Request] = [], _ configure: (inout Configuration) -> Void = { _ in }
    ) throws {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/tokens.json"
        var tokens: [String: String] = [:]
        for (name, list) in grants { tokens[name] = try Self.makeToken(name, list, in: file) }
        tokens["all"] = try Self.makeToken("all", ["*:read,write,schema,secrets,override,admin"], in: file)
        (self.tokens, tokenFile) = (tokens, file)
        daemon = try TestDaemon(in: directory, data: directory.path + "/data") { configuration in
            configuration.access.tokens = file
            configure(&configuration)
        }
        for request in given {
            let answer = try send(request, as: "all")
            try #require(answer.status < 300, "\(request.target): \(answer.text)")
        }
    }

    /// Makes a token and returns its text. The token `expired` expires at once.
    static func makeToken(_ name: String, _ grants: [String], in file: String) throws -> String {
        let grants = try grants.map { try Grant($0) }
        let expires = name == "expired" ? Timestamp.now() : nil
        return try TokenFile.change(at: file) { (tokens: inout TokenFile) throws(ConfigurationError) in
            try tokens.create(name, grants, expires: expires, now: Timestamp.now())
        }
    }

    /// Changes the token file and reloads the daemon.
    func changeTokens(_ body: (inout TokenFile) throws(ConfigurationError) -> Void) throws {
        try TokenFile.change(at: tokenFile, body)
        #expect(try send("POST /v1/reload", as: "all").status == 200)
    }

    /// The request with the token of this name. A name without a token is sent as an invalid token.
    func authorized(_ request: Request, as name: String?) -> Request {
        guard let name else { return request }
        var request = request
        request.fields.append("Authorization: Bearer \(tokens[name] ?? name)")
        return request
    }

    func send(_ request: Request, as name: String?) throws -> RawResponse {
        try daemon.send(authorized(request, as: name))
    }
}

extension Timestamp {
    /// The time this many milliseconds from now.
    static func now(afterMilliseconds milliseconds: Int64) -> Timestamp {
        Timestamp(milliseconds: Timestamp.now().milliseconds + milliseconds)
    }
}

extension WaitingClient {
    /// Sends the request and returns when the daemon counts it as a watcher.
    init(_ protected: ProtectedDaemon, _ request: Request) throws {
        try self.init(protected.daemon, request, metrics: protected.authorized("GET /metrics", as: "all"))
    }
}
