internal import Dispatch
internal import Glibc
internal import Synchronization

/// A proxy of the tests for connections to a port of loopback, which can lose answers and cut connections.
package final class TCPProxy: Sendable {
    package enum Mode: Sendable {
        case passing
        /// What the server sends is lost.
        case losingAnswers
        /// Connections end at once.
        case cut
    }

    private struct State {
        var mode = Mode.passing
        /// The sockets of the connections under way.
        var open: Set<Int32> = []
        var isOver = false
    }

    package let port: UInt16
    private let target: UInt16
    private let listener: Int32
    private let state = Mutex(State())

    package init(to target: UInt16) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard RawAddress.ipv4(0).withSocketAddress({ bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
            close(listener)
            throw ChildProcess.Failure(description: "the proxy cannot listen: error \(errno)")
        }
        self.listener = listener
        port = RawAddress.port(of: listener)
        self.target = target
        let queue = DispatchQueue(label: "proxy")
        queue.async { self.accept() }
    }

    /// Changes what happens from now on. Ends the connections under way if they are cut.
    package func set(_ mode: Mode) {
        state.withLock { state in
            state.mode = mode
            if mode == .cut { for socket in state.open { shutdown(socket, Int32(SHUT_RDWR)) } }
        }
    }

    /// Ends the proxy, which stays until then.
    package func stop() {
        set(.cut)
        state.withLock { $0.isOver = true }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            if state.withLock({ $0.isOver }) || client < 0 { break }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            let isConnected =
                state.withLock { $0.mode != .cut }
                && RawAddress.ipv4(target).withSocketAddress { connect(server, $0, $1) } == 0
            guard isConnected else {
                close(client)
                close(server)
                continue
            }
            state.withLock { state in _ = (state.open.insert(client), state.open.insert(server)) }
            let group = DispatchGroup()
            DispatchQueue(label: "proxy.requests").async(group: group) {
                self.pass(from: client, to: server, answers: false)
            }
            DispatchQueue(label: "proxy.answers").async(group: group) {
                self.pass(from: server, to: client, answers: true)
            }
            group.notify(queue: .global()) {
                self.state.withLock { state in _ = (state.open.remove(client), state.open.remove(server)) }
                close(client)
                close(server)
            }
        }
        close(listener)
    }

    private func pass(from source: Int32, to sink: Int32, answers: Bool) {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        passing: while true {
            let count = recv(source, &bytes, bytes.count, 0)
            guard count > 0 else { break }
            if answers, state.withLock({ $0.mode == .losingAnswers }) { continue }
            var sent = 0
            while sent < count {
                let written = bytes[sent..<count].withUnsafeBytes {
                    send(sink, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard written > 0 else { break passing }
                sent += written
            }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(sink, Int32(SHUT_RDWR))
    }
}
