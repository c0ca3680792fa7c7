internal import Glibc
internal import Synchronization

/// Members of etcd, Debian's `etcd-server`, as processes of the tests on ports of loopback that were free.
package final class EtcdCluster: Sendable {
    private struct Member {
        let arguments: [String]
        var process: ChildProcess?
    }

    /// The address of each member for clients.
    package let ports: [UInt16]
    private let members: Mutex<[Member]>
    private let directory: TemporaryDirectory

    /// Starts members, which take calls some moments later.
    package init(members count: Int = 1, options: [String] = []) throws {
        let directory = try TemporaryDirectory()
        let free = try Self.freePorts(2 * count)
        let (clients, peers) = (free[..<count], free[count...])
        let cluster = zip(0..., peers).map { "m\($0)=http://127.0.0.1:\($1)" }.joined(separator: ",")
        var members: [Member] = []
        for (number, (client, peer)) in zip(clients, peers).enumerated() {
            let (client, peer) = ("http://127.0.0.1:\(client)", "http://127.0.0.1:\(peer)")
            members.append(
                Member(
                    arguments: [
                        "--name", "m\(number)", "--data-dir", "\(directory.path)/m\(number)", "--logger", "zap",
                        "--log-level", "fatal", "--listen-client-urls", client, "--advertise-client-urls", client,
                        "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster,
                        "--initial-cluster-state", "new",
                    ] + options))
        }
        self.directory = directory
        ports = Array(clients)
        self.members = Mutex(members)
        for number in 0..<count { try start(number) }
    }

    /// Starts a member that was killed, or that never ran.
    package func start(_ number: Int) throws {
        try members.withLock { members in
            let process = try ChildProcess(
                members[number].arguments, environment: ["ETCD_UNSUPPORTED_ARCH=arm64"], of: "/usr/bin/etcd")
            members[number].process = process
        }
    }

    /// Kills a member, and waits until it is gone.
    package func kill(_ number: Int) throws {
        let process = members.withLock { members in
            defer { members[number].process = nil }
            return members[number].process
        }
        process?.signal(SIGKILL)
        _ = try process?.end()
    }

    /// Sends a signal to a member: SIGSTOP and SIGCONT pause it.
    package func signal(_ number: Int, _ signal: Int32) {
        members.withLock { $0[number].process?.signal(signal) }
    }

    /// Waits until the first member takes connections.
    package func awaitStart() throws {
        try eventually {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            defer { close(descriptor) }
            return RawAddress.ipv4(ports[0]).withSocketAddress { connect(descriptor, $0, $1) } == 0
        }
    }

    /// Calls the first member: `call("auth/enable", "{}")`. Returns what it answers.
    @discardableResult
    package func call(_ path: String, _ body: String) throws -> RawResponse {
        try RawClient(port: ports[0]).exchange(
            "POST /v3/\(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// The addresses as the option `etcd` has them.
    package var endpoints: [String] { ports.map { "http://127.0.0.1:\($0)" } }

    /// Returns ports that no program listened on a moment ago. All are held until the last is found.
    private static func freePorts(_ count: Int) throws -> [UInt16] {
        var (ports, sockets) = ([UInt16](), [Int32]())
        defer { for socket in sockets { close(socket) } }
        for _ in 0..<count {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            sockets.append(descriptor)
            guard RawAddress.ipv4(0).withSocketAddress({ bind(descriptor, $0, $1) }) == 0 else {
                throw ChildProcess.Failure(description: "bind: error \(errno)")
            }
            ports.append(RawAddress.port(of: descriptor))
        }
        return ports
    }
}
