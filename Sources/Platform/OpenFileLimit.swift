internal import Glibc

/// The maximum number of file descriptors that the process may have open (`RLIMIT_NOFILE`).
package enum OpenFileLimit {
    /// The error if the limit leaves too few descriptors for connections, or if the limit cannot be read.
    package struct Shortage: Error, CustomStringConvertible {
        package let description: String
    }

    /// The number of descriptors that remain for other purposes than connections and event loops: snapshots, journals,
    /// host and user lookups, and files of libdispatch, which aborts if it cannot open a file.
    private static let reserve = 24

    /// Raises the soft limit to the hard limit. Shells and service managers set a low soft limit, because programs that
    /// use `select` cannot handle large descriptors.
    package static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(resource, &limit)
    }

    /// Raises the limit, and returns the number of connections for which descriptors remain. Throws if fewer than two
    /// connections are possible: one connection that the daemon serves, and one connection that it accepts and refuses.
    ///
    /// - Parameter loopCount: the number of event loops that will be started. Each event loop needs two descriptors.
    package static func availableConnections(loopCount: Int) throws(Shortage) -> Int {
        raise()
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else {
            throw Shortage(description: "\(SystemError(call: "getrlimit", code: errno))")
        }
        let allowed = Int(clamping: limit.rlim_cur)
        let needed = openCount + 2 * loopCount + reserve
        guard allowed - needed >= 2 else {
            throw Shortage(
                description: "cannot accept connections: the limit of open files is \(allowed), but the daemon needs "
                    + "at least \(needed + 2); raise the limit with LimitNOFILE of systemd or with ulimit -n")
        }
        return allowed - needed
    }

    /// The number of open descriptors, including inherited descriptors; 0 if `/proc` is not accessible.
    static var openCount: Int {
        guard let directory = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Subtract the entries "." and "..", and the descriptor of the directory stream.
        return count - 3
    }

    /// The soft limit, which the kernel enforces.
    static var current: Int {
        var limit = rlimit()
        getrlimit(resource, &limit)
        return Int(clamping: limit.rlim_cur)
    }

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}
