import ClientTestSupport
import TestSupport

/// A proxy between the program `settings` and the daemon of a `Shell`. Before some requests of the program, the proxy
/// runs command lines of another caller, so that a test can cause a conflict before a known request.
struct InterferingProxy {
    private let server: ScriptedServer

    /// The address to which the program connects.
    var url: String { "\(server.address)" }

    /// The number of command lines that the proxy has started.
    var interferenceCount: Int { server.log.count("interference") }

    /// The method of the request before which a command line of another caller runs, and the command line.
    typealias Interference = (method: String, line: String)

    /// - Parameter interferences: Command lines in the order in which they run. The first command line runs before the
    ///   first request with its method. Each further command line runs before the next request with its method after
    ///   the request that the previous command line has preceded.
    init(to shell: Shell, _ interferences: [Interference]) throws {
        let (path, environment) = (shell.directory.path, shell.environment)
        server = try ScriptedServer { _, peer, log in
            guard let daemon = try? RawClient(.unix("\(path)/socket")) else { return }
            while let request = peer.readRequest() {
                let count = log.count("interference")
                if count < interferences.count, request.hasPrefix(interferences[count].method) {
                    log.add("interference")
                    let words = ["-c", "cd '\(path)'; \(interferences[count].line)"]
                    _ = try? ChildProcess(words, environment: environment, of: "/bin/sh").end()
                }
                guard let answer = try? daemon.exchange(request) else { return }
                let fields = answer.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
                peer.send("HTTP/1.1 \(answer.status) \(answer.reason)\r\n\(fields)\r\n")
                peer.send(answer.body)
            }
        }
    }
}
