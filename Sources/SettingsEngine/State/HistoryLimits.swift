extension History {
    /// The limits of a history of recent commits.
    package struct Limits: Sendable {
        /// The maximum number of commits.
        package var commits = 65_536
        /// The approximate maximum of the memory that the commits take, in bytes.
        package var bytes = 64 << 20
        /// The maximum age of a commit in milliseconds. Ages are relative to the reference time of ``AgreedTime``.
        package var age = Int64.max
        /// The maximum number of its newest commits that each suite protects from eviction by commits of other suites.
        package var suiteCommits = 256
        /// The maximum total size of the commits that each suite protects, in bytes.
        package var suiteBytes = 64 << 10
        /// The percentage of ``commits`` and ``bytes`` that is reserved for the newest commits regardless of their
        /// suites. Without this reserve, the protected commits of many suites could fill the history, and a suite with
        /// frequent writes would keep only its protected commits. They would be too few: the daemon recognises a
        /// repeated request by the commit of the first request.
        package var newestPercent = 50

        package init() {}

        /// Limits that are smaller by 1/1024. A history that exceeds its limits is reduced to these limits, so that
        /// most commits evict nothing. An eviction is expensive: it copies parts of several lists that readers share.
        var slightlyReduced: Limits {
            var limits = self
            limits.commits -= commits / 1024
            limits.bytes -= bytes / 1024
            return limits
        }

        /// No limits.
        package static var unbounded: Limits {
            var limits = Limits()
            (limits.commits, limits.bytes) = (.max, .max)
            (limits.suiteCommits, limits.suiteBytes) = (.max, .max)
            return limits
        }
    }
}
