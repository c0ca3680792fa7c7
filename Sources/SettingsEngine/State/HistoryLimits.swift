extension History {
    /// The limits of a history.
    package struct Limits: Sendable {
        /// The maximum number of commits.
        package var commits = 65_536
        /// The approximate maximum of the memory that the commits take, in bytes.
        package var bytes = 64 << 20
        /// The maximum age of a commit in milliseconds, counted back from the ``AgreedTime``.
        package var age = Int64.max
        /// The number of newest commits that each suite protects from eviction by commits of other suites.
        package var suiteCommits = 256
        /// The maximum size of the commits that each suite protects, in bytes.
        package var suiteBytes = 64 << 10
        /// The percentage of ``commits`` and ``bytes`` that is reserved for the newest commits regardless of their suites. Without a
        /// reserve, a busy suite among many suites would keep only the commits that it protects, which is too few to answer repeated
        /// requests.
        package var newestPercent = 50

        package init() {}

        /// Limits that are smaller by a thousandth. A history that exceeds its limits is reduced to these, so that most commits evict
        /// nothing: an eviction after a publication copies parts of several lists.
        var slightlyReduced: Limits {
            var limits = self
            limits.commits -= commits / 1024
            limits.bytes -= bytes / 1024
            return limits
        }

        /// Limits that no history exceeds.
        package static var unbounded: Limits {
            var limits = Limits()
            (limits.commits, limits.bytes) = (.max, .max)
            (limits.suiteCommits, limits.suiteBytes) = (.max, .max)
            return limits
        }
    }
}
