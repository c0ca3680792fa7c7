extension History {
    /// The bounds of a history.
    package struct Limits: Sendable {
        /// The number of commits that are kept at most.
        package var commits = 65_536
        /// The bytes of memory that they take at most, about.
        package var bytes = 64 << 20
        /// How many milliseconds a commit is kept, counted back from the ``AgreedTime``.
        package var age = Int64.max
        /// The number of a suite's newest commits that others do not push out,
        package var suiteCommits = 256
        /// as far as they take no more bytes.
        package var suiteBytes = 64 << 10
        /// The part of both bounds for the newest commits, whatever they touch. With none, and many suites, a busy one
        /// would have only what it protects, too little for requests that are repeated.
        package var newestPercent = 50

        package init() {}

        /// No bounds.
        package static var unbounded: Limits {
            var limits = Limits()
            (limits.commits, limits.bytes) = (.max, .max)
            (limits.suiteCommits, limits.suiteBytes) = (.max, .max)
            return limits
        }
    }
}
