import CLinux
import Foundation
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsWeb
import TestSupport
import Testing

/// The token file. A change writes the temporary file `tokens.json.new`, and renames it to `tokens.json`.
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

    @Test("Each token is different, is stored as a digest, and reads back with its grants")
    func create() throws {
        let tokens = [try create("a"), try create("b", ["b.*:read,write", "c/k:read"])]
        #expect(Set(tokens).count == 2)
        // A token is a prefix and 32 random bytes as 43 characters of base64url.
        let prefix = "settingsd_"
        #expect(tokens.allSatisfy { $0.hasPrefix(prefix) && $0.utf8.count == prefix.utf8.count + 43 })
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for token in tokens { #expect(!text.contains(token.dropFirst(prefix.utf8.count))) }
        let file = try TokenFile(at: path)
        #expect(file.tokens.map(\.name) == ["a", "b"])
        #expect(file.tokens[1].digest == SHA256(Array(tokens[1].utf8).span))
        #expect(file.tokens[1].grants.map(\.description) == ["b.*:read,write", "c/k:read"])
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["tokens.json"])
    }

    @Test("A revoked token is removed, and a misspelt name is refused with a suggestion")
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
        "A token name that is used, empty or too long, or has a character that suite names exclude, is refused",
        arguments: ["a", "", "a b", "ä", String(repeating: "a", count: 65)])
    func names(name: String) throws {
        _ = try create("a")
        #expect(throws: ConfigurationError.self) { try create(name) }
        #expect(try TokenFile(at: path).tokens.map(\.name) == ["a"])
    }

    @Test("A token file that other users can read or write is refused", arguments: [0o604, 0o640, 0o620, 0o666])
    func modes(mode: Int) throws {
        _ = try create("a")
        // A token file of root may be readable by a group of the process, so the test sets another group (1).
        if getuid() == 0, mode == 0o640 { #expect(chown(path, 0, 1) == 0) }
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        #expect { try TokenFile(at: path) } throws: { "\($0)".contains("chmod 600") }
        // A command of root accepts a file of root that any group can read.
        guard getuid() != 0 || mode != 0o640 else { return }
        #expect { try create("b") } throws: { "\($0)".contains("chmod 600") }
    }

    @Test(
        "A token file of root that a group of the process can read is accepted, and keeps its owner, group and mode",
        .enabled(if: getuid() == 0))
    func groups() throws {
        _ = try create("a")
        #expect(chown(path, 0, getegid()) == 0 && chmod(path, 0o640) == 0)
        #expect(try TokenFile(at: path).tokens.map(\.name) == ["a"])
        #expect(chown(path, 0, 1) == 0)
        _ = try create("b")
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_uid == 0 && status.st_gid == 1 && status.st_mode & 0o777 == 0o640)
        // The commands of root read the file with `acceptsAnyOwnerForRoot`.
        #expect(try TokenFile(at: path, acceptsAnyOwnerForRoot: true).tokens.map(\.name) == ["a", "b"])
        #expect(chmod(path, 0o660) == 0)
        #expect { try TokenFile(at: path, acceptsAnyOwnerForRoot: true) } throws: { "\($0)".contains("chmod 600") }
    }

    @Test("A token file of more than 4 MiB is not read, and a change that would exceed 4 MiB is refused")
    func length() throws {
        _ = try create("a")
        // With these grants four times, a token takes more than 1 MiB, so four tokens exceed 4 MiB.
        let grants = try (0..<4096).map { try Grant("\(String(repeating: "a", count: 60))\($0):read") }
        func createLarge(_ name: String) throws {
            try TokenFile.change(at: path) { (file: inout TokenFile) throws(ConfigurationError) in
                _ = try file.create(
                    name, grants + grants + grants + grants, expires: nil, now: Timestamp(milliseconds: 0))
            }
        }
        #expect {
            for number in 0..<4 { try createLarge("large\(number)") }
        } throws: { "\($0)".contains("revoke tokens") }
        #expect(try TokenFile(at: path).tokens.map(\.name).prefix(2) == ["a", "large0"])
        #expect(truncate(path, 1 << 40) == 0)
        #expect { try TokenFile(at: path) } throws: { "\($0)".contains("1099511627776 bytes, more than 4194304") }
    }

    @Test("Concurrent token commands wait for each other")
    func concurrentCommands() throws {
        let ends = EventLog()
        for number in 0..<12 {
            Thread.detachNewThread { [path] in
                let end = Result {
                    try TokenFile.change(at: path, timeout: .seconds(Deadline.patience)) {
                        (file: inout TokenFile) throws(ConfigurationError) in
                        _ = try file.create("t\(number)", [], expires: nil, now: Timestamp(milliseconds: 0))
                    }
                }
                ends.add("\(end)")
            }
        }
        #expect(ends.wait { $0.count == 12 })
        #expect(Set(ends.all) == ["success()"])
        #expect(Set(try TokenFile(at: path).tokens.map(\.name)) == Set((0..<12).map { "t\($0)" }))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["tokens.json"])
    }

    @Test(
        "If the directory's owner replaces the temporary file by a link, the linked file keeps its owner",
        .enabled(if: getuid() == 0))
    func replacedTemporaryFile() throws {
        let victim = try directory.file("victim", "of root")
        let folder = directory.path + "/folder"
        #expect(mkdir(folder, 0o755) == 0 && chown(folder, 1, 1) == 0)
        // The closure runs while the command has the temporary file `tokens.json.new` open. User 1 owns the directory.
        try? TokenFile.change(at: folder + "/tokens.json") { (_: inout TokenFile) throws(ConfigurationError) in
            unlink(folder + "/tokens.json.new")
            symlink(victim, folder + "/tokens.json.new")
        }
        // The command gives a new file the owner of the directory, and must not give the victim this owner.
        var status = stat()
        #expect(stat(victim, &status) == 0)
        #expect(status.st_uid == 0)
    }

    static let malformed: [(text: String, hint: String)] = [
        ("{", "line 1"), ("[]", "must be an object"), (#"{"token":[]}"#, "did you mean tokens?"),
        (#"{"tokens":[1]}"#, "element 1 of \"tokens\""),
        (#"{"tokens":[{"name":"a"}]}"#, "\"sha256\" is missing"),
        (#"{"tokens":[{"name":"a","sha256":"00"}]}"#, "64 hexadecimal digits"),
        (#"{"tokens":[{"nam":"a"}]}"#, "\"nam\" of element 1 of \"tokens\": unknown member"),
        (
            #"{"tokens":[{"name":"a","sha256":"\#(digest)","grants":["app"],"created":"2026-01-01T00:00:00.000Z"}]}"#,
            "has no rights"
        ),
        (
            #"{"tokens":[{"name":"a","sha256":"\#(digest)","grants":[],"created":"today"}]}"#,
            "\"created\" of element 1 of \"tokens\""
        ),
        (#"{"tokens":[\#(entry),\#(entry)]}"#, "occurs twice"),
    ]
    private static let digest = String(repeating: "0", count: 64)
    private static let entry = #"{"name":"a","sha256":"\#(digest)","grants":[],"created":"2026-01-01T00:00:00.000Z"}"#

    @Test("The command follows a link to the token file and keeps the link")
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

    @Test("A malformed token file is refused with the location of the fault", arguments: malformed)
    func mistakes(text: String, hint: String) throws {
        let path = try directory.file("tokens.json", text)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect { try TokenFile(at: path) } throws: { "\($0)".contains(hint) && "\($0)".contains(path) }
    }

    @Test(
        "The daemon refuses a token file of another user, and a command of root accepts the file",
        .enabled(if: getuid() == 0))
    func owner() throws {
        _ = try create("a")
        #expect(chown(path, 1, 1) == 0)
        #expect { try TokenFile(at: path) } throws: { "\($0)".contains("belongs to another user") }
        #expect(try TokenFile(at: path, acceptsAnyOwnerForRoot: true).tokens.map(\.name) == ["a"])
        _ = try create("b")
        let owner = try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? Int
        #expect(owner == 1, "a command of root must keep the owner of the file")
    }

    @Test("The temporary file of a killed command is replaced, and while another command runs, a change times out")
    func leftover() throws {
        _ = try directory.file("tokens.json.new", "{")
        #expect(chmod(path + ".new", 0o666) == 0)
        _ = try create("a")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let other = try OpenFile(path + ".new", .new, in: POSIXFileSystem())
        #expect(try other.lock())
        #expect {
            try TokenFile.change(at: path, timeout: .zero) { (_: inout TokenFile) throws(ConfigurationError) in }
        } throws: { "\($0)".contains("another command is changing it") }
        withExtendedLifetime(other) {}
    }

    @Test("Revoking a missing token does not write the file")
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

    @Test("The error about a missing token file names the command that creates the file")
    func missing() {
        #expect { try TokenFile(at: path) } throws: { "\($0)".contains("settingsd token create NAME") }
    }
}
