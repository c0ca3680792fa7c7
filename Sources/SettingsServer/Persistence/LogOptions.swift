extension LocalLog {
    /// How the log is to keep its promise.
    package struct Options: Sendable {
        package var durability: Configuration.Durability
        /// How often to sync where the durability is `interval`, in nanoseconds.
        package var syncInterval: UInt64 = 1_000_000_000
        /// How many bytes the journal may grow by before a snapshot is written; more if the snapshot is larger.
        package var snapshotJournalBytes = 64 << 20
        /// After how long with changes a snapshot is written, in nanoseconds.
        package var snapshotInterval: UInt64 = 300_000_000_000
        /// Whether the log does everything in the call that finds it due, rather than beside; for tests.
        package var isSingleFile = false

        package init(durability: Configuration.Durability) {
            self.durability = durability
        }
    }
}
