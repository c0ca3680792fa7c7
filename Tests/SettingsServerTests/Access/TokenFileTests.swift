import Foundation
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsServer
import TestSupport
import Testing

@Suite(.ownThread)
struct TokenFileTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/tokens.json" }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func create(_ name: String, _ grants: [String] = ["app:read"]) throws -> String {
        let grants = try grants.map { try Grant($0) }
        return try TokenFile.change(at: path) { (file: inout TokenFile) throws(ConfigurationError) in
            try file.create(name, grants, expires: nil, now: Timestamp(milliseconds: 0))
        }
    }

    @Test("A token is new each time, is kept as its digest, and reads back with its grants")
    func create() throws {
        let tokens = [try create("a"), try create("b", ["b.*:read,write", "c/k:read"])]
        #expect(Set(tokens).count == 2)
        #expect(tokens.allSatisfy { $0.hasPrefix("settingsd_") && $0.utf8.count == 10 + 43 })
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for token in tokens { #expect(!text.contains(token.dropFirst(10))) }
        let file = try TokenFile(at: path)
        #expect(file.tokens.map(\.name) == ["a", "b"])
        #expect(file.tokens[1].digest == SHA256(Array(tokens[1].utf8).span))
        #expect(file.tokens[1].grants.map(\.description) == ["b.*:read,write", "c/k:read"])
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["tokens.json"])
    }

    @Test("A revoked token is gone, and a name that is not there is answered with the one that was meant")
    func revoke() throws {
        _ = try create("deploy")
        #expect {
            try TokenFile.change(at: path) { (file: inout TokenFile) throws(ConfigurationError) in
                try file.revoke("deplo")
            }
        } throws: { "\($0)" == "there is no token deplo: did you mean deploy?" }
        try TokenFile.change(at: path) { (file: inout TokenFile) throws(ConfigurationError) in try file.revoke("deploy")
        }
        #expect(try TokenFile(at: path).tokens.isEmpty)
    }

    @Test(
        "A name is given once, and is of plain letters",
        arguments: ["a", "", "a b", "ä", String(repeating: "a", count: 65)])
    func names(name: String) throws {
        _ = try create("a")
        #expect(throws: ConfigurationError.self) { try create(name) }
        #expect(try TokenFile(at: path).tokens.map(\.name) == ["a"])
    }

    @Test("A file that others can read is refused", arguments: [0o604, 0o640, 0o620, 0o666])
    func modes(mode: Int) throws {
        _ = try create("a")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        #expect { try TokenFile(at: path) } throws: { "\($0)".contains("chmod 600") }
        #expect { try create("b") } throws: { "\($0)".contains("chmod 600") }
    }

    static let malformed: [(text: String, hint: String)] = [
        ("{", "line 1"), ("[]", "expected an object"), (#"{"token":[]}"#, "did you mean tokens?"),
        (#"{"tokens":[1]}"#, "/tokens/0"),
        (#"{"tokens":[{"name":"a"}]}"#, "\"sha256\" is missing"),
        (#"{"tokens":[{"name":"a","sha256":"00"}]}"#, "64 hexadecimal digits"),
        (#"{"tokens":[{"nam":"a"}]}"#, "unknown member \"nam\""),
        (
            #"{"tokens":[{"name":"a","sha256":"\#(digest)","grants":["app"],"created":"2026-01-01T00:00:00.000Z"}]}"#,
            "has no rights"
        ),
        (#"{"tokens":[{"name":"a","sha256":"\#(digest)","grants":[],"created":"today"}]}"#, "/tokens/0/created"),
        (#"{"tokens":[\#(entry),\#(entry)]}"#, "stands twice"),
    ]
    private static let digest = String(repeating: "0", count: 64)
    private static let entry = #"{"name":"a","sha256":"\#(digest)","grants":[],"created":"2026-01-01T00:00:00.000Z"}"#

    @Test("A link to the file is followed, and stays a link when a token is made")
    func links() throws {
        let link = directory.path + "/link.json"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "tokens.json")
        _ = try create("a")
        try TokenFile.change(at: link) { (file: inout TokenFile) throws(ConfigurationError) in
            _ = try file.create("b", [], expires: nil, now: Timestamp(milliseconds: 0))
        }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "tokens.json")
        #expect(try TokenFile(at: link).tokens.map(\.name) == ["a", "b"])
        #expect(try TokenFile(at: path).tokens.count == 2)
    }

    @Test("A malformed file is refused with its place", arguments: malformed)
    func mistakes(text: String, hint: String) throws {
        let path = try directory.file("tokens.json", text)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect { try TokenFile(at: path) } throws: { "\($0)".contains(hint) && "\($0)".contains(path) }
    }

    @Test("A file of another user is refused", .enabled(if: getuid() == 0))
    func owner() throws {
        _ = try create("a")
        #expect(chown(path, 1, 1) == 0)
        #expect { try TokenFile(at: path) } throws: { "\($0)".contains("belongs to another user") }
        #expect(try TokenFile(at: path, isForRoot: true).tokens.map(\.name) == ["a"])
        _ = try create("b")
        let owner = try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? Int
        #expect(owner == 1, "a command of root leaves the file to its owner")
    }

    @Test("A draft that a command left behind is replaced, and one that a command is writing is left alone")
    func leftover() throws {
        _ = try directory.file("tokens.json.new", "{")
        #expect(chmod(path + ".new", 0o666) == 0)
        _ = try create("a")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let other = try OpenFile(path + ".new", .new, in: POSIXFileSystem())
        #expect(try other.lock())
        #expect { try create("b") } throws: { "\($0)".hasPrefix("another command changes the token file") }
        withExtendedLifetime(other) {}
    }

    @Test("To revoke a token that is not there writes nothing")
    func revokeNone() throws {
        func revoke() throws {
            try TokenFile.change(at: path) { (file: inout TokenFile) throws(ConfigurationError) in try file.revoke("a")
            }
        }
        #expect { try revoke() } throws: { "\($0)".hasPrefix("there is no token a: ") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
        _ = try create("b")
        let before = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
        #expect(throws: ConfigurationError.self) { try revoke() }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int == before)
    }

    @Test("A file that is missing is answered with the command that makes one")
    func missing() {
        #expect { try TokenFile(at: path) } throws: { "\($0)".contains("settingsd token create NAME") }
    }
}
