internal import Glibc

/// A user at the other end of a Unix domain socket, as the kernel had it when the connection was made.
package final class PeerUser: Sendable {
    package let id: UInt32
    /// The group, and the further groups if the kernel tells them.
    package let groups: [UInt32]
    /// The name that the system has for the user, else its number.
    package let name: String

    package init(_ numbers: Numbers, name: String) {
        (id, groups) = (numbers.id, numbers.groups)
        self.name = name
    }

    /// The numbers of a user and of its groups.
    package struct Numbers: Sendable {
        package let id: UInt32
        package let groups: [UInt32]

        /// Asks the kernel; nil for a socket that is not of that kind.
        package init?(of socket: borrowing Socket) {
            // Process, user, group.
            guard let credentials = option(Int32(SO_PEERCRED), of: socket, most: 3), credentials.count == 3 else {
                return nil
            }
            let (user, group) = (credentials[1], credentials[2])
            let more = option(PeerUser.peerGroups, of: socket, most: 1024) ?? []
            id = user
            groups = [group] + more.filter { $0 != group }
        }
    }

    /// `SO_PEERGROUPS`, which the C library has no name for.
    private static let peerGroups: Int32 = 59

    /// Returns an option that is a list of numbers; nil if the socket does not have it.
    private static func option(_ name: Int32, of socket: borrowing Socket, most count: Int) -> [UInt32]? {
        var numbers = [UInt32](repeating: 0, count: count)
        var length = socklen_t(count * MemoryLayout<UInt32>.size)
        guard getsockopt(socket.descriptor, SOL_SOCKET, name, &numbers, &length) == 0 else { return nil }
        return Array(numbers.prefix(Int(length) / MemoryLayout<UInt32>.size))
    }
}

/// The system's databases of users and groups. They may be remote, so no event loop and no acceptor asks them.
package enum SystemUsers {
    package static func name(of id: UInt32) -> String? {
        find { buffer, size, found in
            var entry = passwd()
            var result: UnsafeMutablePointer<passwd>?
            guard getpwuid_r(id, &entry, buffer, size, &result) == 0, result != nil else { return }
            found = String(cString: entry.pw_name)
        }
    }

    /// Returns the home directory of a user, or nil if the system does not know the user.
    package static func homeDirectory(of id: UInt32) -> String? {
        find { buffer, size, found in
            var entry = passwd()
            var result: UnsafeMutablePointer<passwd>?
            guard getpwuid_r(id, &entry, buffer, size, &result) == 0, result != nil else { return }
            found = entry.pw_dir.map { String(cString: $0) }
        }
    }

    package static func id(of name: String) -> UInt32? {
        find { buffer, size, found in
            var entry = passwd()
            var result: UnsafeMutablePointer<passwd>?
            guard getpwnam_r(name, &entry, buffer, size, &result) == 0, result != nil else { return }
            found = entry.pw_uid
        }
    }

    package static func group(named name: String) -> UInt32? {
        find { buffer, size, found in
            var entry = Glibc.group()
            var result: UnsafeMutablePointer<Glibc.group>?
            guard getgrnam_r(name, &entry, buffer, size, &result) == 0, result != nil else { return }
            found = entry.gr_gid
        }
    }

    /// Looks up an entry, whose texts lie in a buffer for as long as that takes.
    private static func find<Value>(_ body: (UnsafeMutablePointer<CChar>, Int, inout Value?) -> Void) -> Value? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64 << 10) { buffer in
            var found: Value?
            if let start = buffer.baseAddress { body(start, buffer.count, &found) }
            return found
        }
    }
}
