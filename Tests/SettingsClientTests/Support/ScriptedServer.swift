import Dispatch
import Glibc
import SettingsClient
import Synchronization
import TestSupport

/// A server that does with its connections what a test says: each in turn, in order of their coming.
///
/// The script of a connection blocks its thread; when it returns, the connection is closed.
final class ScriptedServer: Sendable {
    /// One connection as the script sees it.
    final class Peer {
        private let descriptor: Int32

        init(_ descriptor: Int32) {
            self.descriptor = descriptor
        }

        deinit {
            _ = close(descriptor)
        }

        /// Reads one request with its body; nil if the client has closed, or after twenty seconds.
        func readRequest() -> String? {
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

        /// What comes next; nil at the end.
        func read() -> [UInt8]? {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, 20_000) > 0 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 65536)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            return count > 0 ? Array(buffer[..<count]) : nil
        }

        func send(_ bytes: some Sequence<UInt8>) {
            let bytes = Array(bytes)
            _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        }

        func send(_ text: String) {
            send(Array(text.utf8))
        }
    }

    let address: ServerAddress
    /// What has happened: `connection`, and whatever scripts add.
    let log = EventLog()
    private let listener: Int32
    private let path: TemporaryDirectory

    /// The script is called for each connection, with its number from 0, on a thread of its own.
    init(_ script: @escaping @Sendable (Int, Peer, EventLog) -> Void) throws {
        path = try TemporaryDirectory()
        let name = path.path + "/socket"
        address = try ServerAddress("unix:\(name)")
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var place = sockaddr_un()
        place.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: name.utf8) }
        let result = withUnsafePointer(to: place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0, listen(listener, 128) == 0 else { throw RawClient.Failure.system("listen", errno) }
        self.listener = listener
        let log = log
        DispatchQueue(label: "scripted server").async {
            var number = 0
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else {
                    _ = close(listener)
                    return
                }
                log.add("connection")
                let current = number
                number += 1
                DispatchQueue(label: "scripted connection").async { script(current, Peer(descriptor), log) }
            }
        }
    }

    deinit {
        // The thread that accepts notices, and closes.
        shutdown(listener, Int32(SHUT_RDWR))
    }

    func client(timeout: Duration = .seconds(10)) -> SettingsClient {
        SettingsClient(address, timeout: timeout)
    }

    /// An answer with the state of a service.
    static let service = answer(#"{"name":"settingsd","version":"1","revision":1,"cursor":"e.1"}"#)

    /// An answer to observing one suite that does not exist.
    static let emptySuite = answer(
        #"{"revision":1,"cursor":"e.1","schemaRevision":{},"values":{},"missing":["app"],"changes":[]}"#)

    /// An answer to what has happened to it since.
    static let noChanges = answer(#"{"revision":1,"cursor":"e.1","schemaRevision":{},"changes":[]}"#)

    /// An answer to a reset.
    static let reset = answer(#"{"revision":2,"changed":true,"changes":[]}"#)

    static func answer(_ body: String, status: Int = 200) -> String {
        "HTTP/1.1 \(status) X\r\nSettings-Cursor: e.1\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
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
