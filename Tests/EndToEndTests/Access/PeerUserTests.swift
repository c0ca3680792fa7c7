import Foundation
import HTTPServer
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsWeb
import TestSupport
import Testing

/// Grants for users and groups that connect through a Unix domain socket. A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct PeerUserTests {
    /// The name of the user that runs the test.
    private let name = SystemUsers.name(of: getuid()) ?? String(getuid())

    /// The answer of a new daemon to a request over a Unix domain socket.
    private func answer(to request: Request, _ configure: (inout Configuration) throws -> Void) throws -> RawResponse {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/socket"
        var failure: (any Error)?
        let daemon = try TestDaemon(in: directory, data: directory.path + "/data") { configuration in
            configuration.listen.append(.unix(path: path))
            do { try configure(&configuration) } catch { failure = error }
        }
        #expect(failure == nil)
        defer { daemon.stop() }
        return try RawClient(.unix(path)).ask(request)
    }

    /// The number of a user that does not run the test.
    private let otherUserID = "4294967294"

    /// A `%` before a name or a number stands for a group.
    @Test("A user, by name or number, and a group have their grants over a Unix domain socket")
    func users() throws {
        for user in [name, String(getuid()), "%\(getgid())"] {
            let answer = try answer(to: "GET /v1/caller") { $0.access.users = [(user, [try Grant("app:write")])] }
            #expect(answer.text == #"{"name":"user:\#(name)","grants":["app:write"]}"#)
        }
        let both = try answer(to: "GET /v1/caller") {
            $0.access.users = [(name, [try Grant("a:read")]), ("%\(getgid())", [try Grant("b:read")])]
        }
        #expect(both.json?["grants"] == ["a:read", "b:read"])
    }

    @Test("Without access control, GET /v1/caller returns the user of the Unix domain socket, with all rights")
    func userWithoutAccessControl() throws {
        #expect(
            try answer(to: "GET /v1/caller") { _ in }.text
                == #"{"name":"user:\#(name)","grants":["\#(Grant.everything.description)"]}"#)
    }

    @Test("A user without the required grant gets 403; a user without any grant gets 401")
    func missingGrants() throws {
        let ownUser = try answer(to: "GET app") { $0.access.users = [(name, [try Grant("other:read")])] }
        #expect(ownUser.status == 403)
        let otherUser = try answer(to: "GET app") { $0.access.users = [(otherUserID, [try Grant("*:read")])] }
        #expect(otherUser.status == 401)
        // A user without grants has the grants of anonymous callers, but the commit names the user.
        let open = try answer(to: "PUT app/keys/a 1") {
            $0.access.users = [(otherUserID, [try Grant("*:read")])]
            $0.access.anonymous = [try Grant("app:write")]
        }
        #expect(open.json?["by"] == .string("user:\(name)"))
    }

    @Test("Without access control, a commit over a Unix domain socket names its user; a commit over TCP names nobody")
    func by() throws {
        #expect(try answer(to: "PUT app/keys/a 1") { _ in }.json?["by"] == .string("user:\(name)"))
        #expect(try TestDaemon().send("PUT app/keys/a 1").json?["by"] == nil)
    }

    @Test("A start with an unknown user or group in the configuration fails, and the error has the name")
    func missing() throws {
        for user in ["no-such-user", "%no-such-group"] {
            #expect { try TestDaemon { $0.access.users = [(user, [.everything])] } } throws: { error in
                "\(error)".contains(user.replacing("%", with: ""))
            }
        }
    }
}
