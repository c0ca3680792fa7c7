internal import Glibc

/// How many files and sockets the process may have open.
enum OpenFileLimit {
    /// Descriptors that are no connections: files, listeners, loops, and some to spare.
    static let others = 64

    /// Raises the limit to the most that the process may ask for, and returns what it then is. Shells and service
    /// managers give a small one for the sake of programs that use `select`.
    static func raise() -> Int {
        var limit = rlimit()
        let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(files, &limit) == 0 else { return others }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(files, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
