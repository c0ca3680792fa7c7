internal import Dispatch
internal import Glibc
package import SettingsHTTP
package import SettingsModel
internal import Synchronization
package import TestSupport

/// A server that calls a closure of a test, the script, for each connection.
///
/// Each connection has its own thread, so a script may block. The server closes the connection when its script returns.
package final class ScriptedServer: Sendable {
    /// The server side of one connection.
    package final class Peer {
        private let descriptor: Int32

        package init(_ descriptor: Int32) {
            self.descriptor = descriptor
        }

        deinit {
            _ = close(descriptor)
        }

        /// Reads one request with its body. Returns nil if the client closes the connection, or if no byte arrives for
        /// twenty seconds.
        package func readRequest() -> String? {
            var received: [UInt8] = []
            while true {
                let text = String(decoding: received, as: UTF8.self)
                if let end = text.endIndex(ofFirst: "\r\n\r\n") {
                    let length =
                        text[..<end].lowercased().split(separator: "content-length: ").dropFirst().first
                        .flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
                    if text[end...].utf8.count >= length { return text }
                }
                guard let more = read() else { return nil }
                received += more
            }
        }

        /// Returns the next bytes that arrive. Returns nil if the client closes the connection, or if no byte arrives
        /// for twenty seconds.
        package func read() -> [UInt8]? {
            var arrival = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&arrival, 1, 20_000) > 0 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 65536)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            return count > 0 ? Array(buffer[..<count]) : nil
        }

        /// Returns false if not all bytes could be sent, for example because the client has closed the connection.
        @discardableResult
        package func send(_ bytes: some Sequence<UInt8>) -> Bool {
            let bytes = Array(bytes)
            return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
        }

        package func send(_ text: String) {
            send(Array(text.utf8))
        }
    }

    package let address: ServerAddress
    /// The log has `connection` for each accepted connection, and the events that scripts add.
    package let log = EventLog()
    private let listener: ListeningSocket

    /// Starts a server on a Unix domain socket. The arguments of the script are the number of the connection,
    /// counted from 0, the server side of the connection, and the log of the server.
    package convenience init(_ script: @escaping @Sendable (Int, Peer, EventLog) -> Void) throws {
        let listener = try ListeningSocket(backlog: 128)
        try self.init(on: listener, at: listener.address(), script)
    }

    /// Starts a server that accepts the connections of a socket.
    package init(
        on listener: ListeningSocket, at address: ServerAddress,
        _ script: @escaping @Sendable (Int, Peer, EventLog) -> Void
    ) {
        self.address = address
        self.listener = listener
        let log = log
        DispatchQueue(label: "scripted server").async {
            var number = 0
            while let descriptor = listener.accept() {
                log.add("connection")
                let current = number
                number += 1
                DispatchQueue(label: "scripted connection").async { script(current, Peer(descriptor), log) }
            }
        }
    }

    deinit {
        // Ends the loop that accepts connections. The loop then releases the last reference to the socket.
        listener.end()
    }

    package func client(timeout: Duration = .seconds(Deadline.patience)) -> DaemonClient {
        DaemonClient(address, timeout: timeout)
    }

    /// The answer to a request for the name, the version and the revision of the daemon.
    package static let service = answer(#"{"name":"settingsd","version":"1","revision":1,"cursor":"e.1"}"#)

    /// The answer to the first request of a client for the state of a suite that does not exist.
    package static let emptySuite = answer(
        #"{"revision":1,"cursor":"e.1","schemaRevision":{},"values":{},"missing":["app"],"changes":[]}"#)

    /// The answer to a long poll if nothing has changed.
    package static let noChanges = answer(#"{"revision":1,"cursor":"e.1","schemaRevision":{},"changes":[]}"#)

    /// The answer to a write that the daemon has carried out.
    package static let acceptedWrite = answer(#"{"revision":2,"changed":true,"changes":[]}"#)

    /// Returns an HTTP response with the reason phrase `X` and the cursor `e.1`, which is revision 1 of the epoch `e`.
    ///
    /// - Parameter more: Further header lines. Each line ends with CR LF.
    package static func answer(_ body: String, status: Int = 200, more: String = "") -> String {
        "HTTP/1.1 \(status) X\r\nSettings-Cursor: e.1\r\n\(more)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}

extension String {
    /// Returns the index after the first occurrence of `mark`. Compares bytes, because Swift treats CR LF as one
    /// character.
    fileprivate func endIndex(ofFirst mark: String) -> String.Index? {
        var index = utf8.startIndex
        while index < utf8.endIndex {
            if utf8[index...].starts(with: mark.utf8) { return utf8.index(index, offsetBy: mark.utf8.count) }
            index = utf8.index(after: index)
        }
        return nil
    }
}
