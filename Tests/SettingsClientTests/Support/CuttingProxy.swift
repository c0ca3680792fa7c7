import SettingsClient
import Synchronization
import TestSupport

/// Stands before a daemon and can lose its answers: the request is done, and the connection ends instead of the answer.
final class CuttingProxy: Sendable {
    private final class Cuts: Sendable {
        let count = Mutex(0)
    }

    let server: ScriptedServer
    private let cuts = Cuts()

    init(to port: UInt16) throws {
        server = try ScriptedServer { [cuts] _, peer, log in
            guard let daemon = try? RawClient(port: port) else { return }
            while let request = peer.readRequest() {
                guard (try? daemon.send(request)) != nil, let answer = try? daemon.readResponse() else { return }
                let cut = cuts.count.withLock { count in
                    defer { count = max(0, count - 1) }
                    return count > 0
                }
                if cut {
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

    /// So many answers from now on are lost.
    func cut(_ count: Int) {
        cuts.count.withLock { $0 = count }
    }
}
