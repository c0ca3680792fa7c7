internal import Dispatch
internal import Glibc
internal import Synchronization

/// A proxy of the tests for connections to a port of loopback, which can lose answers and cut connections.
package final class TCPProxy: Sendable {
    package enum Mode: Sendable {
        case passing
        /// What the server sends is lost.
        case losingAnswers
        /// The answers to requests that have a text are lost, or replaced by another text.
        case replacing(String, with: String?)
        /// What is sent arrives that much later.
        case delaying(milliseconds: Int32)
        /// Connections end at once.
        case cut

        fileprivate var isCut: Bool { if case .cut = self { true } else { false } }
    }

    private struct State {
        var mode = Mode.passing
        /// The sockets of the connections under way.
        var open: Set<Int32> = []
        var isOver = false
        var target: UInt16
    }

    /// A connection: true while the last request is one whose answer is replaced.
    private final class Way: Sendable {
        let isReplaced = Atomic(false)
    }

    package let port: UInt16
    private let listener: Int32
    private let state: Mutex<State>

    package init(to target: UInt16) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard RawAddress.ipv4(0).withSocketAddress({ bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
            close(listener)
            throw ChildProcess.Failure(description: "the proxy cannot listen: error \(errno)")
        }
        self.listener = listener
        port = RawAddress.port(of: listener)
        state = Mutex(State(target: target))
        let queue = DispatchQueue(label: "proxy")
        queue.async { self.accept() }
    }

    /// Changes what happens from now on. Ends the connections under way if they are cut.
    package func set(_ mode: Mode) {
        state.withLock { state in
            state.mode = mode
            if mode.isCut { for socket in state.open { shutdown(socket, Int32(SHUT_RDWR)) } }
        }
    }

    /// Has new connections lead to another port, and ends those under way.
    package func lead(to target: UInt16) {
        state.withLock { state in
            state.target = target
            for socket in state.open { shutdown(socket, Int32(SHUT_RDWR)) }
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
            let (isCut, target) = state.withLock { ($0.mode.isCut, $0.target) }
            let isConnected =
                !isCut && RawAddress.ipv4(target).withSocketAddress { connect(server, $0, $1) } == 0
            guard isConnected else {
                close(client)
                close(server)
                continue
            }
            state.withLock { state in _ = (state.open.insert(client), state.open.insert(server)) }
            let (group, way) = (DispatchGroup(), Way())
            DispatchQueue(label: "proxy.requests").async(group: group) {
                self.pass(from: client, to: server, way, answers: false)
            }
            DispatchQueue(label: "proxy.answers").async(group: group) {
                self.pass(from: server, to: client, way, answers: true)
            }
            group.notify(queue: .global()) {
                self.state.withLock { state in _ = (state.open.remove(client), state.open.remove(server)) }
                close(client)
                close(server)
            }
        }
        close(listener)
    }

    private func pass(from source: Int32, to sink: Int32, _ way: Way, answers: Bool) {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        passing: while true {
            let count = recv(source, &bytes, bytes.count, 0)
            guard count > 0 else { break }
            var message = Array(bytes[..<count])
            switch state.withLock({ $0.mode }) {
            case .passing, .cut: break
            case .losingAnswers: if answers { continue }
            case .replacing(let text, let replacement):
                if !answers {
                    let isHit = String(decoding: message, as: UTF8.self).contains(text)
                    way.isReplaced.store(isHit, ordering: .relaxed)
                } else if way.isReplaced.load(ordering: .relaxed) {
                    guard let replacement else { continue }
                    message = Array(replacement.utf8)
                }
            case .delaying(let time): poll(nil, 0, time)
            }
            var sent = 0
            while sent < message.count {
                let written = message[sent...].withUnsafeBytes {
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
