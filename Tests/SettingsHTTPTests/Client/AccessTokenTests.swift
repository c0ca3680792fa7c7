import ClientTestSupport
import Foundation
import SettingsAPI
import SettingsHTTP
import SettingsModel
import TestSupport
import Testing

/// Tests of tokens that a client sends to a daemon whose callers need grants. Each token has the rights `read`,
/// `write`, `schema` and `admin` on all suites. `settings-worker text VALUE` is a program that stores the value under
/// the key `text` of the suite `worker` with a Swift client.
@Suite(.ownThread)
struct AccessTokenTests {
    private let directory: TemporaryDirectory
    private let daemon: ServedDaemon
    private let tokens: [String]

    init() throws {
        directory = try TemporaryDirectory()
        (daemon, tokens) = try ServedDaemon.withTokens(["one", "two"], in: directory)
    }

    @Test(
        "A client sends its token with each request; a request without a token is refused",
        arguments: ServedDaemon.Transport.allCases)
    func token(transport: ServedDaemon.Transport) throws {
        let address = try daemon.address(transport)
        let client = DaemonClient(address, token: AccessToken("  \(tokens[0])\n"))
        let caller = try client.blocking.send(.caller)
        #expect(caller.name == "token:one")
        #expect(caller.grants == ["*:read,write,schema,admin"])
        // The right `admin` includes the right `reload`.
        #expect(try client.blocking.send(.reload).needsRestart == [])
        // A copy of the client with another timeout has the same token.
        #expect(try client.withTimeout(.seconds(5)).blocking.send(.caller).name == "token:one")
        #expect { try DaemonClient(address).blocking.send(.caller) } throws: {
            ($0 as? SettingsError)?.code == .unauthorized
        }
        #expect { try DaemonClient(address, token: AccessToken("wrong")).blocking.send(.caller) } throws: { error in
            (error as? SettingsError)?.code == .unauthorized
        }
    }

    @Test("A client reads its token file again after the daemon refuses the token")
    func changedTokenFile() throws {
        let path = try directory.file("token", tokens[0] + "\n")
        let client = DaemonClient(try daemon.address(), token: AccessToken(file: path))
        #expect(try client.blocking.send(.caller).name == "token:one")
        _ = try directory.file("token", "revoked")
        #expect(
            try client.blocking.send(.caller).name == "token:one", "the client must not read the file for each request")
        let secondClient = DaemonClient(try daemon.address(), token: AccessToken(file: path))
        #expect(throws: SettingsError.self) { try secondClient.blocking.send(.caller) }
        _ = try directory.file("token", tokens[1])
        #expect(try secondClient.blocking.send(.caller).name == "token:two")
    }

    @Test(
        "A client without the right to read secrets gets an answer to a read with changedFrom only after a new revision"
    )
    func readsWithChangedFrom() throws {
        // The suite has a secret, so the entity tags for this caller contain the revision and a digest of its grants.
        // `changedFrom` contains only the revision.
        let client = DaemonClient(try daemon.address(), token: AccessToken(tokens[0])).blocking
        let (app, key) = (try SuiteName("app"), try KeyName("a"))
        let schema: JSONValue = ["additionalProperties": [:], "properties": ["a": ["writeOnly": true]]]
        _ = try client.send(.setSchema(schema, of: app))
        let first = try client.send(.set(key, to: 1, in: app)).revision
        #expect(try client.send(.suite(app, changedFrom: first)) == nil)
        #expect(try client.send(.setting(key, in: app, changedFrom: first, wait: .seconds(1))) == nil)
        let second = try client.send(.set(key, to: 2, in: app, .init(ifMatch: .tag(EntityTag(first))))).revision
        #expect(try client.send(.suite(app, changedFrom: first))?.revision == second)
        #expect(try client.send(.setting(key, in: app, changedFrom: first))?.revision == second)
    }

    @Test(
        "A request with a malformed token fails, and the error does not contain the token",
        arguments: [("", "it is empty"), (" \n", "it is empty")]
            + ["a b", "a\r\nX: y", "ä"].map { ($0, "it contains a character that is not visible ASCII") })
    func malformedToken(text: String, reason: String) throws {
        let client = DaemonClient(try daemon.address(), token: AccessToken(text))
        let error = #expect(throws: SettingsError.self) { try client.blocking.send(.caller) }
        #expect(error == .unusableToken("cannot send the token: \(reason)", outcome: .notDone))
    }

    @Test("The descriptions of a token and of a client with the token do not contain the text of the token")
    func descriptions() throws {
        let token = AccessToken(tokens[0])
        let client = DaemonClient(try daemon.address(), token: token)
        var dumped = "\(token) \(String(reflecting: token)) \(client)"
        dump(token, to: &dumped)
        dump(client, to: &dumped)
        // The first characters are the same in all tokens.
        #expect(!dumped.contains(tokens[0].dropFirst(10)))
    }

    @Test("SETTINGS_TOKEN_FILE gives all clients of a program their token")
    func tokenFileInEnvironment() throws {
        let path = try directory.file("token", tokens[0])
        let worker = try ChildProcess(
            ["text", "hello"],
            environment: [
                "HOME=\(directory.path)", "SETTINGS_URL=http://127.0.0.1:\(daemon.port)",
                "SETTINGS_TOKEN_FILE=\(path)",
            ], of: ChildProcess.built("settings-worker"))
        #expect(try worker.end().code == 0)
        let client = DaemonClient(try daemon.address(), token: AccessToken(tokens[1]))
        let setting = try client.blocking.send(.setting(try KeyName("text"), in: try SuiteName("worker")))
        #expect(setting.value == "hello")
        #expect(setting.by == "token:one")
    }

    @Test("SETTINGS_TOKEN gives all clients of a program their token unless SETTINGS_TOKEN_FILE is set")
    func tokenTextInEnvironment() throws {
        let path = try directory.file("token", tokens[0])
        let client = DaemonClient(try daemon.address(), token: AccessToken(tokens[1])).blocking
        for (variables, caller) in [
            (["SETTINGS_TOKEN=\(tokens[1])"], "token:two"),
            (["SETTINGS_TOKEN=\(tokens[1])", "SETTINGS_TOKEN_FILE=\(path)"], "token:one"),
        ] {
            let worker = try ChildProcess(
                ["text", caller],
                environment: [
                    "HOME=\(directory.path)", "SETTINGS_URL=http://127.0.0.1:\(daemon.port)",
                ] + variables, of: ChildProcess.built("settings-worker"))
            #expect(try worker.end().code == 0)
            let setting = try client.send(.setting(try KeyName("text"), in: try SuiteName("worker")))
            #expect(setting.value == .string(caller) && setting.by == caller)
        }
    }

    @Test("If SETTINGS_TOKEN has a malformed token, a request fails with an error that names the variable")
    func malformedTextInEnvironment() throws {
        let token = AccessToken("a b", from: AccessToken.textVariable)
        let client = DaemonClient(try daemon.address(), token: token)
        let error = #expect(throws: SettingsError.self) { try client.blocking.send(.caller) }
        let reason = "cannot send the token (SETTINGS_TOKEN): it contains a character that is not visible ASCII"
        #expect(error == .unusableToken(reason, outcome: .notDone))
    }

    @Test("A write of a program without its token file is kept, and a later run with the file sends the write")
    func missingTokenFile() throws {
        let (suite, key) = (try SuiteName("worker"), try KeyName("text"))
        let client = DaemonClient(try daemon.address(), token: AccessToken(tokens[1])).blocking
        let path = directory.path + "/late"
        let environment = [
            "HOME=\(directory.path)", "SETTINGS_URL=http://127.0.0.1:\(daemon.port)", "SETTINGS_TOKEN_FILE=\(path)",
        ]
        let program = ChildProcess.built("settings-worker")
        #expect(try ChildProcess(["text", "first"], environment: environment, of: program).end().code == 0)
        #expect { try client.send(.setting(key, in: suite)) } throws: {
            ($0 as? SettingsError)?.code == .unknownSuite
        }
        _ = try directory.file("late", tokens[0])
        // A run may end before the client has sent its writes. The next run sends these writes.
        for _ in 0..<20 where (try? client.send(.setting(key, in: suite)))?.value != "second" {
            #expect(try ChildProcess(["text", "second"], environment: environment, of: program).end().code == 0)
        }
        // Revision 1 is the first commit of the daemon.
        #expect(try client.send(.setting(key, in: suite, at: Moment("1"))).value == "first")
        #expect(try client.send(.setting(key, in: suite)).value == "second")
    }

    @Test("A write sends its note, and line ends in the note cannot start another header field")
    func note() throws {
        let client = DaemonClient(try daemon.address(), token: AccessToken(tokens[0]))
        let (suite, key) = (try SuiteName("app"), try KeyName("a"))
        let answer = try client.blocking.send(.set(key, to: 1, in: suite, WriteOptions(note: "for the\r\nshow")))
        #expect(answer.note == "for the  show")
    }
}
