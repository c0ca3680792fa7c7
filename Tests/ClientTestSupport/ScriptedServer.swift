internal import Dispatch
internal import Glibc
package import SettingsHTTP
package import SettingsModel
internal import Synchronization
package import TestSupport

/// A server that runs a script of a test for each connection, in the order in which they come.
///
/// The script of a connection blocks its thread; when it returns, the connection is closed.
package final class ScriptedServer: Sendable {
    /// One connection as the script sees it.
    package final class Peer {
        private let descriptor: Int32

        package init(_ descriptor: Int32) {
            self.descriptor = descriptor
        }

        deinit {
            _ = close(descriptor)
        }

        /// Reads one request with its body; nil if the client has closed, or after twenty seconds.
        package func readRequest() -> String? {
            var text = ""
            while true {
                if let end = text.range(ofHead: "\r\n\r\n") {
                    let length =
                        text[..<end].lowercased().split(separator: "content-length: ").dropFirst().first
                        .flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
                    if text[end...].utf8.count >= length { return text }
                }
                guard let more = read() else { return nil }
                text += String(decoding: more, as: UTF8.self)
            }
        }

        /// The next request; nil at the end.
        package func read() -> [UInt8]? {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, 20_000) > 0 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 65536)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            return count > 0 ? Array(buffer[..<count]) : nil
        }

        /// False if the client takes nothing more.
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
    /// The events: `connection`, and those that scripts add.
    package let log = EventLog()
    private let listener: ListeningSocket

    /// A server on a Unix domain socket. The script is called for each connection, with its number from 0, on a thread of
    /// its own.
    package convenience init(_ script: @escaping @Sendable (Int, Peer, EventLog) -> Void) throws {
        let listener = try ListeningSocket(backlog: 128)
        try self.init(on: listener, at: listener.address(), script)
    }

    /// A server that accepts the connections of a socket.
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
        // The thread that accepts notices, and lets go of it.
        listener.end()
    }

    package func client(timeout: Duration = .seconds(Deadline.patience)) -> DaemonClient {
        DaemonClient(address, timeout: timeout)
    }

    /// An answer with the state of a service.
    package static let service = answer(#"{"name":"settingsd","version":"1","revision":1,"cursor":"e.1"}"#)

    /// An answer to observing one suite that does not exist.
    package static let emptySuite = answer(
        #"{"revision":1,"cursor":"e.1","schemaRevision":{},"values":{},"missing":["app"],"changes":[]}"#)

    /// An answer with the changes since.
    package static let noChanges = answer(#"{"revision":1,"cursor":"e.1","schemaRevision":{},"changes":[]}"#)

    /// An answer to a reset.
    package static let reset = answer(#"{"revision":2,"changed":true,"changes":[]}"#)

    /// `more` are lines of the head, each with its end.
    package static func answer(_ body: String, status: Int = 200, more: String = "") -> String {
        "HTTP/1.1 \(status) X\r\nSettings-Cursor: e.1\r\n\(more)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}

extension String {
    /// Where the text behind the mark begins. By bytes: a line end is one character to Swift.
    fileprivate func range(ofHead mark: String) -> String.Index? {
        var index = utf8.startIndex
        while index < utf8.endIndex {
            if utf8[index...].starts(with: mark.utf8) { return utf8.index(index, offsetBy: mark.utf8.count) }
            index = utf8.index(after: index)
        }
        return nil
    }
}
