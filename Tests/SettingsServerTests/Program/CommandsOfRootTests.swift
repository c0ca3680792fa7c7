import CLinux
import Foundation
import TestSupport
import Testing

/// Commands that root runs on files that belong to the user of the daemon.
@Suite(.ownThread, .enabled(if: getuid() == 0))
struct CommandsOfRootTests {
    /// The identifier of the user of the daemon: any user except root.
    private static let user: UInt32 = 1
    private let directory: TemporaryDirectory
    /// A directory that belongs to the user of the daemon.
    private let home: String
    private let files = FileManager.default

    init() throws {
        directory = try TemporaryDirectory()
        home = directory.path + "/home"
        // The commands take the rights of the user of the daemon, who must reach `home` through this directory.
        try #require(chmod(directory.path, 0o711) == 0)
        try #require(mkdir(home, 0o700) == 0 && chown(home, Self.user, Self.user) == 0)
    }

    /// Returns the owners of a folder and of the files in it.
    private func owners(in folder: String) throws -> Set<UInt32> {
        let names = try files.contentsOfDirectory(atPath: folder)
        return Set(
            try ([""] + names).map { name in
                var status = stat()
                try #require(stat(folder + "/" + name, &status) == 0)
                return status.st_uid
            })
    }

    /// Makes a backup that only root can read, and returns its path.
    private func backup() throws -> String {
        let daemon = try DaemonProcess(data: directory.path + "/source")
        let client = try RawClient(port: daemon.port)
        try client.send("PUT /v1/suites/app/keys/n HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n42")
        #expect(try client.readResponse().status == 201)
        try client.send("GET /v1/backup HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let file = try directory.file("backup", String(decoding: try client.readResponse().body, as: UTF8.self))
        #expect(chmod(file, 0o600) == 0)
        try daemon.stop()
        return file
    }

    @Test("`restore` as root creates files of the directory's owner, also in a new directory")
    func restore() throws {
        let backup = try backup()
        let newDirectory = home + "/new/data"
        for data in [newDirectory, home] {
            let end = try ChildProcess.run(["restore", backup, "--data", data])
            #expect(end.code == 0, "\(end)")
            #expect(try owners(in: data) == [Self.user])
        }
        #expect(try owners(in: home + "/new") == [Self.user])
    }

    @Test("`restore` as root creates files of root in a directory of root") func restoreForRoot() throws {
        let data = directory.path + "/data"
        #expect(try ChildProcess.run(["restore", try backup(), "--data", data]).code == 0)
        #expect(try owners(in: data) == [0])
    }

    @Test("`repair` as root leaves all files to the directory's owner") func repair() throws {
        #expect(try ChildProcess.run(["restore", try backup(), "--data", home]).code == 0)
        let journal = try #require(
            try files.contentsOfDirectory(atPath: home).first { $0.hasPrefix("journal-") })
        try Data("damaged\n".utf8).write(to: URL(filePath: home + "/" + journal))
        let end = try ChildProcess.run(["repair", home, "--yes"])
        #expect(end.code == 0 && end.output.hasSuffix("done\n"), "\(end)")
        #expect(try owners(in: home) == [Self.user])
    }

    @Test("`token` as root creates a file of the directory's owner") func token() throws {
        let words = ["--grant", "*:read", "--access.tokens", home + "/tokens.json", "--data", home]
        for name in ["a", "b"] { #expect(try ChildProcess.run(["token", "create", name] + words).code == 0) }
        #expect(try owners(in: home) == [Self.user])
        #expect(try files.contentsOfDirectory(atPath: home) == ["tokens.json"])
    }

    @Test("`token` as root does not use a link of the directory's owner to a file of root") func links() throws {
        let secret = directory.path + "/root.json"
        func create(_ name: String, _ file: String) throws -> ChildProcess.End {
            try ChildProcess.run(
                ["token", "create", name, "--grant", "*:read", "--access.tokens", file, "--data", home])
        }
        #expect(try create("a", secret).code == 0)
        let before = try Data(contentsOf: URL(filePath: secret))
        #expect(symlink(secret, home + "/tokens.json") == 0)
        // The command takes the rights of the owner of `home`, who may not read the file of root. The exit code 78 says
        // that the configuration, here the token file, cannot be used.
        let end = try create("b", home + "/tokens.json")
        #expect(end.code == 78 && end.errors.contains("Permission denied"), "\(end)")
        #expect(try Data(contentsOf: URL(filePath: secret)) == before)
    }
}
