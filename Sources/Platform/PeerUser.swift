internal import Glibc

/// The user of the process at the other end of a Unix domain socket, at the time when the connection was made.
package final class PeerUser: Sendable {
    package let id: UInt32
    /// The group IDs: the group of the process, then its supplementary groups if the kernel reports them.
    package let groups: [UInt32]
    /// The name of the user, or the user ID as text if the system does not know the name.
    package let name: String

    package init(_ identifiers: Identifiers, name: String) {
        (id, groups) = (identifiers.id, identifiers.groups)
        self.name = name
    }

    /// The user ID and the group IDs of a peer.
    package struct Identifiers: Sendable {
        package let id: UInt32
        package let groups: [UInt32]

        /// Reads the IDs from the kernel. Returns nil if the kernel does not report the IDs.
        ///
        /// - Parameter socket: a Unix domain socket. For a TCP socket, the kernel reports the invalid ID 2³² − 1.
        package init?(of socket: borrowing Socket) {
            // The option contains the process ID, the user ID and the group ID.
            guard let credentials = option(Int32(SO_PEERCRED), of: socket, maximumCount: 3), credentials.count == 3
            else { return nil }
            let (user, group) = (credentials[1], credentials[2])
            let supplementary = option(PeerUser.peerGroups, of: socket, maximumCount: 1024) ?? []
            id = user
            groups = [group] + supplementary.filter { $0 != group }
        }
    }

    /// The socket option `SO_PEERGROUPS`, for which the C library has no constant.
    private static let peerGroups: Int32 = 59

    /// Returns the value of a socket option that is a list of integers. Returns nil if `getsockopt` fails, for example
    /// because the socket does not have the option, or because there are more than `maximumCount` groups.
    private static func option(_ name: Int32, of socket: borrowing Socket, maximumCount: Int) -> [UInt32]? {
        var values = [UInt32](repeating: 0, count: maximumCount)
        var length = socklen_t(maximumCount * MemoryLayout<UInt32>.size)
        guard getsockopt(socket.descriptor, SOL_SOCKET, name, &values, &length) == 0 else { return nil }
        return Array(values.prefix(Int(length) / MemoryLayout<UInt32>.size))
    }
}

/// The system's databases of users and groups. A lookup may take seconds, because the databases may be on another
/// machine, so event loops and acceptors must not call these functions.
package enum SystemUsers {
    /// Returns the name of a user, or nil if the system does not know the user ID.
    package static func name(of id: UInt32) -> String? {
        find { buffer, size, found in
            var entry = passwd()
            var result: UnsafeMutablePointer<passwd>?
            guard getpwuid_r(id, &entry, buffer, size, &result) == 0, result != nil else { return }
            found = String(cString: entry.pw_name)
        }
    }

    /// Returns the home directory of a user, or nil if the system does not know the user ID.
    package static func homeDirectory(of id: UInt32) -> String? {
        find { buffer, size, found in
            var entry = passwd()
            var result: UnsafeMutablePointer<passwd>?
            guard getpwuid_r(id, &entry, buffer, size, &result) == 0, result != nil else { return }
            found = entry.pw_dir.map { String(cString: $0) }
        }
    }

    /// Returns the user ID of a user name, or nil if the system does not know the name.
    package static func id(of name: String) -> UInt32? {
        find { buffer, size, found in
            var entry = passwd()
            var result: UnsafeMutablePointer<passwd>?
            guard getpwnam_r(name, &entry, buffer, size, &result) == 0, result != nil else { return }
            found = entry.pw_uid
        }
    }

    /// Returns the group ID of a group name, or nil if the system does not know the name.
    package static func group(named name: String) -> UInt32? {
        find { buffer, size, found in
            var entry = Glibc.group()
            var result: UnsafeMutablePointer<Glibc.group>?
            guard getgrnam_r(name, &entry, buffer, size, &result) == 0, result != nil else { return }
            found = entry.gr_gid
        }
    }

    /// Calls a function that looks up an entry of a database, with a buffer for the strings of the entry.
    private static func find<Value>(_ body: (UnsafeMutablePointer<CChar>, Int, inout Value?) -> Void) -> Value? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64 << 10) { buffer in
            var found: Value?
            if let start = buffer.baseAddress { body(start, buffer.count, &found) }
            return found
        }
    }
}
