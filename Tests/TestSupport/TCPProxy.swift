internal import Dispatch
internal import Glibc
internal import Synchronization

/// A proxy for connections to a loopback port, which can drop answers and cut connections.
package final class TCPProxy: Sendable {
    package enum Mode: Sendable {
        /// The proxy forwards all data.
        case passing
        /// The proxy drops all data from the server.
        case losingAnswers
        /// The proxy replaces the answers to requests that contain a text, or drops these answers if the replacement is
        /// nil. The proxy finds the text only if one `recv` returns all of it, which holds for short requests on
        /// loopback.
        case replacingAnswers(toRequestsWith: String, with: String?)
        /// The proxy forwards all data after this time, as a connection with a high latency does.
        case delaying(milliseconds: Int)
        /// The proxy closes open connections, and closes each new connection at once.
        case cut

        fileprivate var isCut: Bool { if case .cut = self { true } else { false } }
    }

    private struct State {
        var mode = Mode.passing
        /// The sockets of open connections.
        var open: Set<Int32> = []
        var isStopped = false
        var target: UInt16
        /// The number of times that the mode `replacingAnswers` has replaced or dropped received data of an answer.
        var replacedAnswers = 0
    }

    /// The state of one connection.
    private final class ConnectionState: Sendable {
        /// True if the last request of the connection contains the text of the mode `replacingAnswers`.
        let isAnswerReplaced = Atomic(false)
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

    /// Changes the mode. `cut` also closes the open connections.
    package func set(_ mode: Mode) {
        state.withLock { state in
            state.mode = mode
            if mode.isCut { for socket in state.open { shutdown(socket, Int32(SHUT_RDWR)) } }
        }
    }

    /// Directs new connections to another port and closes the open connections.
    package func redirect(to target: UInt16) {
        state.withLock { state in
            state.target = target
            for socket in state.open { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    package var replacedAnswers: Int { state.withLock { $0.replacedAnswers } }

    /// Stops the proxy. A proxy that is not stopped is never released.
    package func stop() {
        set(.cut)
        state.withLock { $0.isStopped = true }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { break }
            if state.withLock({ $0.isStopped }) {
                close(client)
                break
            }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            let (isCut, target) = state.withLock { ($0.mode.isCut, $0.target) }
            let isConnected =
                !isCut && RawAddress.ipv4(target).withSocketAddress { connect(server, $0, $1) } == 0
            guard isConnected else {
                close(client)
                close(server)
                continue
            }
            // The mode or the target may have changed since the connect. `set` and `redirect` close only sockets in
            // `open`.
            let isCurrent = state.withLock { state in
                guard !state.mode.isCut, state.target == target else { return false }
                state.open.formUnion([client, server])
                return true
            }
            guard isCurrent else {
                close(client)
                close(server)
                continue
            }
            let (group, connection) = (DispatchGroup(), ConnectionState())
            DispatchQueue(label: "proxy.requests").async(group: group) {
                self.pass(from: client, to: server, connection, answers: false)
            }
            DispatchQueue(label: "proxy.answers").async(group: group) {
                self.pass(from: server, to: client, connection, answers: true)
            }
            group.notify(queue: .global()) {
                self.state.withLock { state in _ = (state.open.remove(client), state.open.remove(server)) }
                close(client)
                close(server)
            }
        }
        close(listener)
    }

    /// Forwards the data of one direction of a connection, until either side ends.
    ///
    /// - Parameter answers: True for the direction from the server to the client.
    private func pass(from source: Int32, to sink: Int32, _ connection: ConnectionState, answers: Bool) {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        // The messages that the proxy has received but not forwarded, each with the time at which to forward it.
        var delayed: [(due: ContinuousClock.Instant, message: [UInt8])] = []
        passing: while true {
            if let first = delayed.first {
                let time = max(.zero, ContinuousClock.now.duration(to: first.due))
                var event = pollfd(fd: source, events: Int16(POLLIN), revents: 0)
                // Rounds up, because a shorter wait would end too early and be repeated.
                guard poll(&event, 1, Int32(time / .milliseconds(1)) + 1) > 0 else {
                    guard Self.send(delayed.removeFirst().message, to: sink) else { break }
                    continue
                }
            }
            let count = recv(source, &bytes, bytes.count, 0)
            guard count > 0 else { break }
            var message = Array(bytes[..<count])
            var delay = Duration.zero
            switch state.withLock({ $0.mode }) {
            case .passing, .cut: break
            case .losingAnswers: if answers { continue }
            case .replacingAnswers(let text, let replacement):
                if !answers {
                    let isMatch = String(decoding: message, as: UTF8.self).contains(text)
                    connection.isAnswerReplaced.store(isMatch, ordering: .relaxed)
                } else if connection.isAnswerReplaced.load(ordering: .relaxed) {
                    state.withLock { $0.replacedAnswers += 1 }
                    guard let replacement else { continue }
                    message = Array(replacement.utf8)
                }
            case .delaying(let time): delay = .milliseconds(time)
            }
            delayed.append((.now + delay, message))
            while let first = delayed.first, first.due <= .now {
                guard Self.send(delayed.removeFirst().message, to: sink) else { break passing }
            }
        }
        for (_, message) in delayed { guard Self.send(message, to: sink) else { break } }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(sink, Int32(SHUT_RDWR))
    }

    /// Sends all bytes. Returns false if the connection has ended.
    private static func send(_ message: [UInt8], to sink: Int32) -> Bool {
        var sent = 0
        while sent < message.count {
            let written = message[sent...].withUnsafeBytes {
                Glibc.send(sink, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard written > 0 else { return false }
            sent += written
        }
        return true
    }
}
