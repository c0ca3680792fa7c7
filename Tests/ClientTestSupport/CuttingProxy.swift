internal import Synchronization
internal import TestSupport

/// Stands before a daemon and can lose its answers: the request is done, and the connection ends instead of the answer.
package final class CuttingProxy: Sendable {
    private final class Cuts: Sendable {
        private let rest = Mutex<(count: Int, method: String)>((0, ""))

        func set(_ count: Int, _ method: String) {
            rest.withLock { $0 = (count, method) }
        }

        /// True if the answer to this request is to be lost.
        func removeCut(for request: String) -> Bool {
            rest.withLock { rest in
                guard rest.count > 0, request.hasPrefix(rest.method) else { return false }
                rest.count -= 1
                return true
            }
        }
    }

    private final class Target: Sendable {
        let port: Mutex<UInt16>

        init(_ port: UInt16) {
            self.port = Mutex(port)
        }
    }

    package let server: ScriptedServer
    private let cuts = Cuts()
    private let target: Target

    package init(to port: UInt16) throws {
        let target = Target(port)
        self.target = target
        server = try ScriptedServer { [cuts] _, peer, log in
            guard let daemon = try? RawClient(port: target.port.withLock { $0 }) else {
                _ = peer.readRequest()
                return
            }
            while let request = peer.readRequest() {
                guard (try? daemon.send(request)) != nil, let answer = try? daemon.readResponse() else { return }
                if cuts.removeCut(for: request) {
                    log.add("cut")
                    return
                }
                var head = "HTTP/1.1 \(answer.status) \(answer.reason)\r\n"
                for field in answer.fields { head += "\(field.name): \(field.value)\r\n" }
                peer.send(Array((head + "\r\n").utf8) + answer.body)
            }
            log.add("left")
        }
    }

    /// Has connections from now on lead to another daemon.
    package func redirect(to port: UInt16) {
        target.port.withLock { $0 = port }
    }

    /// So many answers from now on are lost, of all or of those to requests with a method.
    package func cut(_ count: Int, of method: String = "") {
        cuts.set(count, method)
    }
}
