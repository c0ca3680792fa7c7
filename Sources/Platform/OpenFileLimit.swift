internal import Glibc

/// The limit of files and sockets that the process may have open.
package enum OpenFileLimit {
    /// The error of a limit that leaves no room for connections.
    package struct Shortage: Error, CustomStringConvertible {
        package let description: String
    }

    /// Descriptors that the running daemon opens besides connections and event loops: snapshots and journals, look-ups,
    /// what libdispatch reads of its threads. Without a descriptor these fail, and libdispatch ends the process.
    private static let reserve = 24

    /// Raises the limit to the most that the process may ask for. Shells and service managers give a small one for the
    /// sake of programs that use `select`.
    package static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(resource, &limit)
    }

    /// Raises the limit, and returns the number of connections that may then be open, beside what is open now. Throws if
    /// there is no room for any.
    ///
    /// - Parameter loops: the number of event loops to come, each with two descriptors.
    package static func room(beside loops: Int) throws(Shortage) -> Int {
        raise()
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else {
            throw Shortage(description: "\(SystemError(call: "getrlimit", code: errno))")
        }
        let allowed = Int(clamping: limit.rlim_cur)
        let needed = openCount + 2 * loops + reserve
        guard allowed - needed >= 2 else {
            throw Shortage(
                description: "only \(allowed) files may be open (LimitNOFILE, ulimit -n), and the daemon needs "
                    + "\(needed + 2)")
        }
        return allowed - needed
    }

    /// The number of open descriptors, inherited ones included.
    static var openCount: Int {
        guard let directory = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Less the directory itself, and its entries "." and "..".
        return count - 3
    }

    /// The number that may be open.
    static var most: Int {
        var limit = rlimit()
        getrlimit(resource, &limit)
        return Int(clamping: limit.rlim_cur)
    }

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}
