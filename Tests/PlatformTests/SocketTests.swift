import Glibc
import Platform
import TestSupport
import Testing

@Suite(.ownThread)
struct SocketTests {
    private static var soon: ContinuousClock.Instant { .now + .seconds(10) }

    /// A connected pair.
    private struct Pair: ~Copyable {
        let client: Socket
        let server: Socket

        init(_ address: SocketAddress) throws {
            let listener = try Listener(address)
            let client = try Socket(for: listener.address)
            if client.connect(to: listener.address) == .inProgress {
                #expect(PollSet.wait(for: .writable, on: client.descriptor, until: soon))
                #expect(client.connectionState() == .connected)
            }
            #expect(PollSet.wait(for: .readable, on: listener.descriptor, until: soon))
            guard case .connection(let accepted, _) = listener.accept() else {
                throw SystemError(call: "accept", code: 0)
            }
            self.client = client
            server = accepted
        }

        init() throws {
            try self.init(try loopback())
        }
    }

    private static func loopback(port: UInt16 = 0) throws -> SocketAddress {
        try #require(try SocketAddress.resolve("127.0.0.1", port: port, isNumeric: true).first)
    }

    private func receive(on socket: borrowing Socket) -> (Socket.Received, [UInt8]) {
        var bytes = [UInt8](repeating: 0, count: 64)
        #expect(PollSet.wait(for: .readable, on: socket.descriptor, until: Self.soon))
        let received = bytes.withUnsafeMutableBytes { socket.receive(into: $0) }
        if case .bytes(let count) = received { return (received, Array(bytes[..<count])) }
        return (received, [])
    }

    @Test("Bytes go both ways, and the end is distinct from silence") func bytesGoBothWays() throws {
        let pair = try Pair()
        let word = [UInt8]("word".utf8)
        let nothing = withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) { pair.server.receive(into: $0) }
        #expect(nothing == .nothing)
        var isQuiet = pair.server.isQuiet
        #expect(isQuiet)
        let sent = pair.client.send(word.span)
        #expect(sent == 4)
        let received = receive(on: pair.server)
        #expect(received.1 == word)
        _ = pair.server.send(word.span)
        let answer = receive(on: pair.client)
        #expect(answer.1 == word)
        pair.client.endSending()
        let end = receive(on: pair.server)
        #expect(end.0 == .end)
        isQuiet = pair.server.isQuiet
        #expect(!isQuiet)
    }

    @Test("A full buffer takes nothing, and a reset peer takes nothing more") func fullBufferTakesNothing() throws {
        let listener = try Listener(try Self.loopback())
        let client = try Socket(for: listener.address)
        _ = client.connect(to: listener.address)
        do {
            #expect(PollSet.wait(for: .readable, on: listener.descriptor, until: Self.soon))
            guard case .connection(let server, _) = listener.accept() else {
                throw SystemError(call: "accept", code: 0)
            }
            let much = [UInt8](repeating: 1, count: 1 << 20)
            var sent: Int? = 1
            while let count = sent, count > 0 { sent = client.send(much.span) }
            #expect(sent == 0)
            server.resetOnClose()
        }
        #expect(PollSet.wait(for: .readable, on: client.descriptor, until: Self.soon))
        let received = withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) { client.receive(into: $0) }
        #expect(received == .failed(code: ECONNRESET))
        let sent = client.send([UInt8](repeating: 1, count: 1).span)
        #expect(sent == nil)
    }

    @Test("A descriptor is closed when its owner goes") func descriptorClosedWhenOwner() throws {
        let (descriptor, isOpen) = try ChildProcess.whileNoneStarts {
            let socket = try Socket(for: try Self.loopback())
            return (socket.descriptor, fcntl(socket.descriptor, F_GETFD) >= 0)
        }
        #expect(isOpen && descriptor >= 0)
    }

    @Test("Connecting where no program listens fails with the kernel's code") func connectingWhereNoProgram() throws {
        let free = try Listener(try Self.loopback()).address
        let socket = try Socket(for: free)
        var state = socket.connect(to: free)
        if state == .inProgress {
            #expect(PollSet.wait(for: .writable, on: socket.descriptor, until: Self.soon))
            state = socket.connectionState()
        }
        #expect(state == .failed(code: ECONNREFUSED))
    }

    @Test("A Unix domain socket with a full backlog is busy") func unixDomainSocketFull() throws {
        let directory = try TemporaryDirectory()
        let address = SocketAddress.unix(path: directory.path + "/socket")
        let listener = try Listener(address)
        #expect(listen(listener.descriptor, 0) == 0)
        let first = try Socket(for: address)
        let second = try Socket(for: address)
        #expect(first.connect(to: address) == .connected)
        #expect(second.connect(to: address) == .busy)
        guard case .connection(_, .unix(path: "")) = listener.accept() else {
            Issue.record("a peer of a Unix domain socket has no path")
            return
        }
    }

    @Test("A waker ends a wait until it is reset") func wakerEndsWaitUntil() throws {
        let waker = try Waker()
        var set = PollSet()
        set.add(waker.descriptor, .readable)
        var isWoken = set.wait(until: .now)
        #expect(!isWoken)
        waker.wake()
        waker.wake()
        isWoken = set.wait(until: nil)
        #expect(isWoken && set.isReady(0))
        waker.reset()
        isWoken = set.wait(until: .now + .milliseconds(1))
        #expect(!isWoken)
    }
}
