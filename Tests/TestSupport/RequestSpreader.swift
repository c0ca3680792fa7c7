internal import Foundation
internal import Glibc
internal import SettingsAPI
internal import Synchronization

/// A proxy that sends each request to a random daemon of a cluster, so that tests see the cluster as one daemon. The
/// proxy adds Settings-At-Least with the newest cursor of earlier answers, so that a daemon answers only when it has
/// the commits that the test has seen.
///
/// The proxy supports only request bodies with a Content-Length. Each connection has its own thread, which blocks.
final class RequestSpreader: Sendable {
    let port: UInt16
    private let listener: Int32
    private let targets: [UInt16]
    /// The newest cursor of all answers, and the daemon that sent it.
    private let newest = Mutex<(cursor: Cursor, target: UInt16)?>(nil)

    /// - Parameter targets: The ports of the daemons.
    init(to targets: [UInt16]) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard RawAddress.ipv4(0).withSocketAddress({ bind(listener, $0, $1) }) == 0, listen(listener, 1024) == 0 else {
            close(listener)
            throw ChildProcess.Failure(description: "the proxy cannot listen: error \(errno)")
        }
        self.listener = listener
        self.targets = targets
        port = RawAddress.port(of: listener)
        Thread.detachNewThread { self.accept() }
    }

    /// Stops accepting connections.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func accept() {
        while case let descriptor = Glibc.accept(listener, nil, nil), descriptor >= 0 {
            Thread.detachNewThread {
                // An error means that the client or a daemon closed its connection. The deinitializer of `RawClient`
                // then closes the accepted connection.
                try? self.serve(RawClient(accepted: descriptor))
            }
        }
        close(listener)
    }

    private func serve(_ client: RawClient) throws {
        var daemons: [UInt16: RawClient] = [:]
        var isOpen = true
        while isOpen {
            let head = String(decoding: try client.receive { $0.remove(through: "\r\n\r\n") }, as: UTF8.self)
            let length = Self.field("Content-Length", in: head).flatMap { Int($0) } ?? 0
            let body = try client.receive { $0.count >= length ? Array($0.remove(length)) : nil }
            if head.hasPrefix("GET /metrics ") {
                try client.send(watcherCount(Array(head.utf8)))
                continue
            }
            let target = target(for: head)
            let daemon = try daemons[target] ?? RawClient(port: target)
            daemons[target] = daemon
            try daemon.send(Array(addingNewestCursor(to: head).utf8) + body)
            isOpen = try pass(from: daemon, at: target, to: client, toHead: head.hasPrefix("HEAD "))
        }
    }

    /// Adds Settings-At-Least, unless the request already has the field.
    private func addingNewestCursor(to head: String) -> String {
        let newest = newest.withLock { $0 }
        guard let newest, Self.field("Settings-At-Least", in: head) == nil else { return head }
        // `dropLast` removes the last CR LF, which Swift counts as one character.
        return head.dropLast() + "Settings-At-Least: \(newest.cursor)\r\n\r\n"
    }

    /// Chooses a random daemon. For a request that must not wait (`wait=0`), chooses the daemon that sent the newest
    /// cursor, because only that daemon certainly has the commits that Settings-At-Least demands.
    private func target(for head: String) -> UInt16 {
        if head.prefix(while: { $0 != "\r\n" }).contains("wait=0"), let newest = newest.withLock({ $0 }) {
            return newest.target
        }
        return targets[Int.random(in: targets.indices)]
    }

    /// Forwards an answer piece by piece. If the client closes its sending side meanwhile, closes the sending side of
    /// the connection to the daemon. Returns false if the answer is the last answer of its connection.
    private func pass(from daemon: RawClient, at target: UInt16, to client: RawClient, toHead: Bool) throws -> Bool {
        daemon.waitForData(forwardingEndOf: client)
        var head = String(decoding: try daemon.receive { $0.remove(through: "\r\n\r\n") }, as: UTF8.self)
        let response = try RawResponse(head: Array(head.utf8)[...])
        recordCursor(response.field("Settings-Cursor"), from: target)
        if response.status == 400, let old = response.field("Settings-Cursor"), let newest = newest.withLock({ $0 }) {
            // A daemon refuses a malformed request without waiting, so its cursor can be older than `newest`.
            head.replace("Settings-Cursor: \(old)\r\n", with: "Settings-Cursor: \(newest.cursor)\r\n")
        }
        try client.send(head)
        let isOpen = response.field("Connection") != "close"
        guard response.mayHaveBody, !toHead else { return isOpen }
        if response.field("Content-Length") != nil {
            try client.send(daemon.readBody(of: response))
        } else {
            while let part = try part(of: response, from: daemon, to: client) {
                let size = String(part.count, radix: 16)
                try client.send(response.isChunked ? Array("\(size)\r\n".utf8) + part + Array("\r\n".utf8) : part)
            }
            if response.isChunked { try client.send("0\r\n\r\n") }
        }
        return isOpen
    }

    /// Waits for the next part of the body, and returns it; nil at the end of the body.
    private func part(of response: RawResponse, from daemon: RawClient, to client: RawClient) throws -> [UInt8]? {
        daemon.waitForData(forwardingEndOf: client)
        return try daemon.readBodyPart(of: response)
    }

    private func recordCursor(_ text: String?, from target: UInt16) {
        guard let cursor = text.flatMap({ Cursor($0) }) else { return }
        newest.withLock { newest in
            if let last = newest?.cursor, last.epoch == cursor.epoch, last.revision > cursor.revision { return }
            newest = (cursor, target)
        }
    }

    /// Returns an answer to GET /metrics that has only the number of watchers of all daemons.
    private func watcherCount(_ request: [UInt8]) throws -> String {
        let count = try targets.reduce(0) { try $0 + RawClient(port: $1).watcherCount(request) }
        let body = "settingsd_watchers \(count)\n"
        return "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static func field(_ name: String, in head: String) -> String? {
        let start = "\(name.lowercased()):"
        let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(start) }
        return line.map { String($0.dropFirst(start.count).drop { $0 == " " }) }
    }
}
