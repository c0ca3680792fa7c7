import Foundation
import Platform
import TestSupport
import Testing

/// Tests of the files of Unix domain sockets.
@Suite(.ownThread)
struct UnixListenerTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path + "/socket"
    }

    private func listen(_ path: String? = nil) throws -> Listener {
        try Listener(.unix(path: path ?? self.path))
    }

    private func attributes(_ path: String) -> [FileAttributeKey: Any] {
        (try? FileManager.default.attributesOfItem(atPath: path)) ?? [:]
    }

    /// Creates a socket file without a listener, as a killed process leaves it. Returns its path.
    private func makeAbandonedSocket() throws -> String {
        let abandoned = directory.path + "/abandoned"
        // A child process that starts would have a copy of the descriptor, so the socket would stay open.
        try ChildProcess.whileNoChildStarts {
            let listener = try listen()
            try FileManager.default.moveItem(atPath: path, toPath: abandoned)
            withExtendedLifetime(listener) {}
        }
        return abandoned
    }

    /// Expects that a client can connect to the socket at a path.
    private func expectConnection(at path: String) {
        #expect(throws: Never.self) { try RawClient(.unix(path)) }
    }

    @Test
    func `A socket admits only its owner by default`() throws {
        let listener = try listen()
        #expect(listener.address == .unix(path: path))
        #expect(attributes(path)[.type] as? FileAttributeType == .typeSocket)
        #expect(attributes(path)[.posixPermissions] as? Int == 0o600)
    }

    @Test(arguments: [0o400, 0o660, 0o666, 0o777] as [UInt32])
    func `A socket has the requested mode, even if the umask excludes some of its bits`(_ mode: UInt32) throws {
        let listener = try Listener(.unix(path: path), mode: mode)
        #expect(attributes(path)[.posixPermissions] as? Int == Int(mode))
        withExtendedLifetime(listener) {}
    }

    @Test
    func `A listener refuses and does not change a path with a file, a directory or a link`() throws {
        let file = try directory.file("file", "text")
        let link = directory.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: try makeAbandonedSocket())
        for path in [file, link, directory.path] {
            #expect(throws: Listener.Failure.occupied("the path belongs to a file that is not a socket")) {
                try listen(path)
            }
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "text")
        #expect(attributes(link)[.type] as? FileAttributeType == .typeSymbolicLink)
    }

    @Test
    func `A path that is too long, or whose directory does not exist, is refused with the error code of the kernel`()
        throws
    {
        func refusal(_ code: Int32) -> Listener.Failure { .system(SystemError(call: "bind", code: code)) }
        #expect(throws: refusal(ENOENT)) { try listen(directory.path + "/no/socket") }
        // The path of a socket may have at most 107 bytes.
        let tooLongPath = directory.path + "/" + String(repeating: "x", count: 107 - directory.path.utf8.count)
        #expect(throws: refusal(ENAMETOOLONG)) { try listen(tooLongPath) }
        let longestPath = String(tooLongPath.dropLast())
        #expect(longestPath.utf8.count == 107)
        let listener = try listen(longestPath)
        expectConnection(at: longestPath)
        withExtendedLifetime(listener) {}
    }

    @Test
    func `A listener removes its socket file only when it stops listening for the first time`() throws {
        let listener = try listen()
        listener.endListening()
        #expect(attributes(path).isEmpty)
        let newListener = try listen()
        listener.endListening()
        expectConnection(at: path)
        withExtendedLifetime(newListener) {}
    }

    @Test
    func `A listener does not remove a file that replaced its socket`() throws {
        var listener: Listener? = try listen()
        try FileManager.default.removeItem(atPath: path)
        let newListener = try listen()
        listener = nil
        expectConnection(at: path)
        withExtendedLifetime((listener, newListener)) {}
    }
}
