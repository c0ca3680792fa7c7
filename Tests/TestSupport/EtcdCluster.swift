internal import Foundation
internal import Glibc
internal import SettingsModel
internal import Synchronization

/// A cluster of etcd members from Debian's `etcd-server` package, as child processes on free ports of the loopback
/// interface.
package final class EtcdCluster: Sendable {
    private struct Member {
        let name: String
        /// The URL for other members.
        let peer: String
        /// The data directory.
        var data: String
        let arguments: [String]
        var process: ChildProcess?
    }

    /// The port of each member for clients.
    package let ports: [UInt16]
    private let members: Mutex<[Member]>
    private let directory: TemporaryDirectory

    /// Starts the members. Returns before the members accept calls; see `awaitStart()`.
    package init(members count: Int = 1, options: [String] = []) throws {
        let directory = try TemporaryDirectory()
        let freePorts = try (0..<2 * count).map { _ in try LocalPort.free() }
        let (clients, peers) = (freePorts[..<count], freePorts[count...])
        let cluster = zip(0..., peers).map { "m\($0)=http://127.0.0.1:\($1)" }.joined(separator: ",")
        var members: [Member] = []
        for (number, (client, peer)) in zip(clients, peers).enumerated() {
            let (client, peer) = ("http://127.0.0.1:\(client)", "http://127.0.0.1:\(peer)")
            members.append(
                Member(
                    name: "m\(number)", peer: peer, data: "\(directory.path)/m\(number)",
                    arguments: [
                        "--name", "m\(number)", "--logger", "zap", "--log-level", "fatal", "--listen-client-urls",
                        client, "--advertise-client-urls", client,
                        "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster,
                        "--initial-cluster-state", "new",
                    ] + options))
        }
        self.directory = directory
        ports = Array(clients)
        self.members = Mutex(members)
        for number in 0..<count { try start(number) }
    }

    /// Starts a member that is not running.
    package func start(_ number: Int) throws {
        try members.withLock { members in
            // etcd does not start on ARM without this variable.
            let process = try ChildProcess(
                members[number].arguments + ["--data-dir", members[number].data],
                environment: ["ETCD_UNSUPPORTED_ARCH=arm64"], of: "/usr/bin/etcd")
            members[number].process = process
        }
    }

    /// Kills a member and waits for its exit.
    package func kill(_ number: Int) throws {
        let process = members.withLock { members in
            defer { members[number].process = nil }
            return members[number].process
        }
        process?.signal(SIGKILL)
        _ = try process?.end()
    }

    /// Saves a snapshot of etcd to a file.
    package func save(to file: String) throws {
        try runEtcdctl(["--endpoints", endpoints[0], "snapshot", "save", file])
    }

    /// Kills the only member and starts it with the data of a snapshot.
    package func restore(from file: String) throws {
        try kill(0)
        let (name, peer, data) = members.withLock { members in
            members[0].data += "-restored"
            return (members[0].name, members[0].peer, members[0].data)
        }
        try runEtcdctl([
            "snapshot", "restore", file, "--data-dir", data, "--name", name, "--initial-cluster", "\(name)=\(peer)",
            "--initial-advertise-peer-urls", peer,
        ])
        try start(0)
    }

    private func runEtcdctl(_ arguments: [String]) throws {
        let end = try ChildProcess(arguments, environment: ["ETCDCTL_API=3"], of: "/usr/bin/etcdctl").end()
        guard end.code == 0 else { throw ChildProcess.Failure(description: "etcdctl \(arguments): \(end)") }
    }

    /// Sends a signal to a member. SIGSTOP pauses the member, and SIGCONT resumes it.
    package func signal(_ number: Int, _ signal: Int32) {
        members.withLock { $0[number].process?.signal(signal) }
    }

    /// Waits until the first member accepts connections.
    package func awaitStart() throws {
        try eventually {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            defer { close(descriptor) }
            return RawAddress.ipv4(ports[0]).withSocketAddress { connect(descriptor, $0, $1) } == 0
        }
    }

    /// Sends a JSON body to the path `/v3/PATH` of the first member, for example `call("auth/enable", "{}")`. Returns
    /// the answer.
    @discardableResult
    package func call(_ path: String, _ body: String) throws -> RawResponse {
        try RawClient(port: ports[0]).exchange(
            "POST /v3/\(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// Reads up to 16 keys with their values, from `key` up to but not including `end`.
    package func values(from key: String, to end: String) throws -> [(key: String, value: [UInt8])] {
        func encoded(_ text: String) -> String { Data(text.utf8).base64EncodedString() }
        let range = #"{"key":"\#(encoded(key))","range_end":"\#(encoded(end))","limit":"16"}"#
        let answer = try JSONValue(parsing: call("kv/range", range).body, maximumDepth: 16)
        return try (answer["kvs"]?.array ?? []).map { pair in
            guard let key = pair["key"]?.string.flatMap({ Data(base64Encoded: $0) }),
                let value = Data(base64Encoded: pair["value"]?.string ?? "")
            else { throw ChildProcess.Failure(description: "kv/range: \(answer)") }
            return (String(decoding: key, as: UTF8.self), Array(value))
        }
    }

    /// The addresses in the form of the option `etcd.endpoints`.
    package var endpoints: [String] { ports.map { "http://127.0.0.1:\($0)" } }
}
