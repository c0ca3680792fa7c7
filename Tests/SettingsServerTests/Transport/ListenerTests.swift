import SettingsServer
import TestSupport
import Testing

struct ListenerTests {
    @Test(arguments: [
        ("127.0.0.1:7070", ListenAddress.tcp(host: "127.0.0.1", port: 7070)),
        ("0.0.0.0:0", .tcp(host: "0.0.0.0", port: 0)), ("[::1]:65535", .tcp(host: "::1", port: 65535)),
        ("localhost:7070", .tcp(host: "localhost", port: 7070)),
    ])
    func `An address is read, and written the same`(text: String, address: ListenAddress) throws {
        #expect(try ListenAddress(text) == address)
        #expect(address.description == text)
    }

    @Test(arguments: [
        ("7070", "port is missing"), ("localhost", "port is missing"), ("localhost:", "a number"),
        ("localhost:65536", "65535"), ("localhost:http", "a number"), ("localhost:-1", "a number"),
        (":7070", "host is missing"), ("[]:7070", "host is missing"), ("::1:7070", "brackets"),
    ])
    func `What is no address is refused with what is wrong`(text: String, part: String) {
        let error = #expect(throws: ListenError.self) { try ListenAddress(text) }
        #expect(error?.description.contains(part) == true)
        #expect(error?.description.contains(text) == true)
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `It says which port the kernel chose`(host: String) throws {
        let listener = try Listener(.tcp(host: host, port: 0))
        guard case .tcp(host, let port) = listener.address else {
            Issue.record("another kind of address")
            return
        }
        #expect(port != 0)
        _ = try RawClient(port: port)
        ChildProcess.whileNoneStarts { listener.close() }
        #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
    }

    @Test func `An address in use is named with what the system says`() throws {
        let listener = try Listener(.tcp(host: "127.0.0.1", port: 0))
        let error = #expect(throws: ListenError.self) { try Listener(listener.address) }
        #expect(error?.description == "cannot listen on \(listener.address): bind: Address already in use (error 98)")
        ChildProcess.whileNoneStarts { listener.close() }
        try Listener(listener.address).close()
    }

    @Test func `An address that nobody has is refused`() {
        let error = #expect(throws: ListenError.self) { try Listener(.tcp(host: "no-such-host.invalid", port: 0)) }
        #expect(error?.description.contains("not known") == true)
    }
}
