extension History {
    /// The limits of the history in memory. The initial values are the defaults of the options `history.*`.
    package struct Limits: Sendable {
        /// The maximum number of commits.
        package var commits = 65_536
        /// The approximate maximum of the memory that the commits take, in bytes.
        package var bytes = 64 << 20
        /// The maximum age of a commit in milliseconds. The age is computed from the estimate of ``AgreedTime`` and not
        /// from the system clock, because a clock that runs ahead would make recent commits look old.
        package var age = Int64.max
        /// The maximum number of commits that each suite (named set of settings) protects. A suite protects its newest
        /// commits: the history evicts (removes) unprotected commits first.
        package var suiteCommits = 256
        /// The maximum total size of the commits that each suite protects, in bytes.
        package var suiteBytes = 64 << 10
        /// The percentage of ``commits`` and ``bytes`` that is reserved for the newest commits regardless of their
        /// suites. Without this reserve, the protected commits of many suites could fill the history, and a suite with
        /// frequent writes would keep only its protected commits. The daemon could then not recognise many repeated
        /// requests, because it recognises a repeated request by the commit of the first request.
        package var newestPercent = 50

        package init() {}

        /// Limits whose number and memory are smaller by 1/1024. A history that exceeds its limits evicts commits until
        /// it is within the smaller limits, so that most commits evict nothing. An eviction is expensive, because it
        /// copies parts of several lists that readers share.
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
