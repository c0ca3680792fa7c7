import Dispatch
import Foundation
import Platform
import TestSupport
import Testing

@testable import SettingsServer

/// Unix domain sockets: their files.
struct UnixSocketTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path + "/socket"
    }

    private func open(_ path: String? = nil) throws -> Listener {
        try #require(try Listener.open(.unix(path: path ?? self.path)).first)
    }

    private func attributes(_ path: String) -> [FileAttributeKey: Any] {
        (try? FileManager.default.attributesOfItem(atPath: path)) ?? [:]
    }

    /// A socket as a daemon leaves it that was killed.
    private func abandon() throws -> String {
        let listener = try open()
        let abandoned = directory.path + "/abandoned"
        try FileManager.default.moveItem(atPath: path, toPath: abandoned)
        ChildProcess.whileNoneStarts { listener.close() }
        return abandoned
    }

    private func expectRefusal(_ path: String, _ reason: ListenError.Reason) {
        let error = #expect(throws: ListenError.self) { try Listener.open(.unix(path: path)) }
        #expect(error?.reason == reason)
        #expect(error?.address == "unix:" + path)
    }

    @Test func `Only the owner may connect, unless told otherwise`() throws {
        let listener = try open()
        #expect(listener.address == .unix(path: path))
        #expect(attributes(path)[.type] as? FileAttributeType == .typeSocket)
        #expect(attributes(path)[.posixPermissions] as? Int == 0o600)
    }

    @Test(arguments: [0o400, 0o660, 0o666, 0o777] as [UInt32])
    func `Who may connect is as asked for, whatever the umask is`(mode: UInt32) throws {
        let listeners = try Listener.open(.unix(path: path), socketMode: mode)
        #expect(listeners.count == 1)
        #expect(attributes(path)[.posixPermissions] as? Int == Int(mode))
    }

    @Test func `A socket that nobody answers on is replaced`() throws {
        let path = try abandon()
        let server = try TestServer(at: .unix(path: path))
        #expect(try server.connect().exchange(get("/a")).text == "GET /a ")
    }

    @Test func `A socket that somebody answers on stays`() throws {
        let server = try TestServer(at: .unix(path: path))
        expectRefusal(path, .occupied("another program answers there"))
        #expect(try server.connect().exchange(get("/a")).text == "GET /a ")
    }

    @Test func `What is no socket stays, and so does what only leads to one`() throws {
        let file = try directory.file("file", "text")
        let link = directory.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: try abandon())
        for path in [file, link, directory.path] {
            expectRefusal(path, .occupied("something that is not a socket stands there"))
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "text")
        #expect(attributes(link)[.type] as? FileAttributeType == .typeSymbolicLink)
    }

    @Test func `A path that cannot be is refused with what the system says`() throws {
        expectRefusal(directory.path + "/no/socket", .system(SystemError(call: "bind", code: ENOENT)))
        let long = directory.path + "/" + String(repeating: "x", count: 107 - directory.path.utf8.count)
        expectRefusal(long, .system(SystemError(call: "bind", code: ENAMETOOLONG)))
        let longest = String(long.dropLast())
        #expect(longest.utf8.count == 107)
        let server = try TestServer(at: .unix(path: longest))
        #expect(try server.connect().exchange(get("/a")).status == 200)
    }

    @Test func `The file goes with its listener, at once when it stops`() throws {
        let server = try TestServer(at: .unix(path: path))
        let client = try server.connect()
        try client.send(get("/later"))
        #expect(server.script.log.wait(for: "handled /later"))
        server.stop(within: 60)
        #expect(attributes(path).isEmpty)
        #expect(throws: RawClient.Failure.self) { try server.connect() }
        server.script.answer("/later")
        #expect(try client.readResponse().text == "/later")
        client.close()
        #expect(server.script.log.wait(for: "stopped"))
        _ = try open()
        #expect(attributes(path).isEmpty)
    }

    @Test func `A file that took the place of the own one stays`() throws {
        let listener = try open()
        try FileManager.default.removeItem(atPath: path)
        let other = try TestServer(at: .unix(path: path))
        listener.close()
        #expect(try other.connect().exchange(get("/a")).status == 200)
    }
}
