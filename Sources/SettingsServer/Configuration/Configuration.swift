/// How the daemon is to run: every option with its default.
package struct Configuration: Sendable {
    /// When a write counts as done.
    package enum Durability: String, CaseIterable, Sendable {
        /// Once it is on disk. Nothing that was acknowledged is ever lost.
        case always
        /// Once it is with the operating system; on disk a moment later. A crash of the machine may lose that moment.
        case interval
        /// Once it is in memory; on disk with the next snapshot.
        case snapshot
    }

    /// Where to listen.
    package var listen: [ListenAddress] = [.tcp(host: "127.0.0.1", port: 7070)]
    /// Who may connect to Unix domain sockets: the mode of their files. Who may write to the file may connect.
    package var socketMode: UInt32 = 0o600
    /// The data directory; nil for the usual place of the user who runs the daemon.
    package var data: String?
    /// When a write counts as done.
    package var durability = Durability.always
    /// How often to sync where `durability` is `interval`, in milliseconds.
    package var syncInterval = 1000
    /// How many bytes the journal may grow by before a snapshot is written.
    package var snapshotJournalBytes = 64 << 20
    /// After how many seconds with changes a snapshot is written.
    package var snapshotInterval = 300
    /// Names that the daemon answers to beside addresses and `localhost`.
    package var hosts: [String] = []
    /// Origins of pages that may use the daemon.
    package var origins: [String] = []
    /// How many recent commits are kept, and how many bytes of them.
    package var history = History.Limits()
    /// What a peer may take.
    package var transport = TransportLimits()
    /// How many may wait for something to happen.
    package var watchers = WatcherLimits()
    /// What may wait for the writer.
    package var writes = WriteLimits()
    /// How many event loops there are; nil for one for every other core.
    package var loops: Int?
    /// How long a clean stop may take, in seconds.
    package var stopBound = 10
    /// The least that is logged.
    package var logLevel = Log.Level.info

    package init() {}
}
