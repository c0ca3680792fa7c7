extension History {
    /// The limits of a history, which keeps the newest commits of all suites, and additionally the newest commits of
    /// each suite.
    package struct Limits: Sendable {
        /// The maximum number of commits.
        package var commits = 65_536
        /// The approximate maximum of the memory that the commits take, in bytes.
        package var bytes = 64 << 20
        /// The maximum age of a commit in milliseconds. Ages are relative to the ``AgreedTime``, which a wrong clock
        /// does not affect.
        package var age = Int64.max
        /// The maximum number of commits that each suite protects. The history does not evict a suite's protected
        /// commits, its newest, to make room for commits of other suites.
        package var suiteCommits = 256
        /// The maximum total size of the commits that each suite protects, in bytes.
        package var suiteBytes = 64 << 10
        /// The percentage of ``commits`` and ``bytes`` that is reserved for the newest commits regardless of their
        /// suites. Without this reserve, the protected commits of many suites could fill the history. A suite with
        /// frequent writes would then keep only its protected commits. The history must keep more, because it answers
        /// repeated requests from the commits of the first requests.
        package var newestPercent = 50

        package init() {}

        /// Limits that are smaller by 1/1024. A history that exceeds its limits is reduced to these limits. Therefore
        /// most commits evict nothing. This saves time, because an eviction from a history that readers share copies
        /// parts of several lists.
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
