internal import Synchronization
internal import TestSupport

/// A proxy in front of a daemon that can drop answers: the daemon carries out the request, and the proxy closes the
/// connection of the client instead of sending the answer.
package final class CuttingProxy: Sendable {
    /// How many of the next answers the proxy drops, and the HTTP method of their requests. An empty text stands for
    /// every method.
    private final class AnswersToDrop: Sendable {
        private let remaining = Mutex<(count: Int, method: String)>((0, ""))

        func set(count: Int, method: String) {
            remaining.withLock { $0 = (count, method) }
        }

        /// Decrements the count and returns true if the proxy has to drop the answer to this request.
        func countDown(for request: String) -> Bool {
            remaining.withLock { remaining in
                guard remaining.count > 0, request.hasPrefix(remaining.method) else { return false }
                remaining.count -= 1
                return true
            }
        }
    }

    /// The port of the daemon.
    private final class Target: Sendable {
        let port: Mutex<UInt16>

        init(_ port: UInt16) {
            self.port = Mutex(port)
        }
    }

    /// The side of the proxy that accepts the connections of clients. Its log has `dropped answer` for each dropped
    /// answer.
    package let server: ScriptedServer
    private let answersToDrop = AnswersToDrop()
    private let target: Target

    /// Creates a proxy for the daemon on this port of 127.0.0.1.
    package init(to port: UInt16) throws {
        let target = Target(port)
        self.target = target
        // The first argument, the number of the connection, is not needed.
        server = try ScriptedServer { [answersToDrop] _, peer, log in
            guard let daemon = try? RawClient(port: target.port.withLock { $0 }) else {
                // The daemon does not run, so the client gets no answer to its request. The end of the script closes
                // the connection.
                _ = peer.readRequest()
                return
            }
            while let request = peer.readRequest() {
                guard (try? daemon.send(request)) != nil, let answer = try? daemon.readResponse() else { return }
                if answersToDrop.countDown(for: request) {
                    log.add("dropped answer")
                    return
                }
                var head = "HTTP/1.1 \(answer.status) \(answer.reason)\r\n"
                for field in answer.fields { head += "\(field.name): \(field.value)\r\n" }
                peer.send(Array((head + "\r\n").utf8) + answer.body)
            }
        }
    }

    /// Connects later connections of clients to another daemon.
    package func redirect(to port: UInt16) {
        target.port.withLock { $0 = port }
    }

    /// Drops the next `count` answers to requests with a method, or to all requests if no method is given.
    package func dropAnswers(_ count: Int, to method: String = "") {
        answersToDrop.set(count: count, method: method)
    }
}
