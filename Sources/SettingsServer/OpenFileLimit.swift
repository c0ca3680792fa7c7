internal import Glibc
internal import Platform

/// How many files and sockets the process may have open.
enum OpenFileLimit {
    /// Descriptors that the running daemon opens besides connections and event loops: snapshots and journals, look-ups,
    /// timers, what libdispatch reads of its threads. Without a descriptor these fail, and libdispatch ends the process.
    private static let reserve = 24

    /// Raises the limit to the most that the process may ask for. Shells and service managers give a small one for the
    /// sake of programs that use `select`.
    static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(resource, &limit)
    }

    /// Raises the limit, and returns how many connections may then be open at a time, beside what is open now.
    ///
    /// - Parameter loops: how many event loops there will be, each with a descriptor of its own.
    ///
    /// Throws if there is no room for any.
    static func room(beside loops: Int) throws(StartError) -> Int {
        raise()
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { throw .system("\(SystemError(call: "getrlimit", code: errno))") }
        let allowed = Int(clamping: limit.rlim_cur)
        let needed = openCount + loops + reserve
        guard allowed - needed >= 2 else {
            throw .system(
                "only \(allowed) files may be open (LimitNOFILE, ulimit -n), and the daemon needs \(needed + 2)")
        }
        return allowed - needed
    }

    /// How many descriptors are open, inherited ones included.
    private static var openCount: Int {
        guard let directory = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Less the directory itself, and its entries "." and "..".
        return count - 3
    }

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}
