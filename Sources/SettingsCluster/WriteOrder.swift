/// The order in which daemons that write at the same time append their batches (commits that share one flush) to the
/// commit log in etcd, so that etcd refuses few transactions.
///
/// Each daemon derives the order from the log. The identifiers of the daemons that wrote recently form a sorted ring.
/// The daemon after the last writer in this ring is next. The other daemons wait for its batch, but only for a short
/// time, because that daemon may have nothing to write.
struct WriteOrder: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Other daemons wait for a daemon only if it has written within this time.
    private static let writerLifetime = Duration.milliseconds(200)
    /// The duration of a turn (the time to wait for each daemon that is earlier in the ring), in round trips to etcd.
    /// With shorter turns, a slow daemon often loses its turn.
    private static let roundTripsPerTurn = 2.5
    /// The maximum duration of a turn.
    private static let maxTurn = Duration.milliseconds(20)

    /// The identifier of this daemon.
    private let daemon: String
    /// When each daemon last wrote, by the identifier of the daemon.
    private var writers: [String: Instant] = [:]
    /// The writer of the last batch in the log, and when this daemon received the batch; nil before the first batch.
    private var lastBatch: (daemon: String, time: Instant)?
    /// The moving average of the duration of a transaction.
    private var roundTrip = Duration.milliseconds(2)

    init(of daemon: String) { self.daemon = daemon }

    /// Records that a batch with this head (identifying line) is in the log.
    mutating func recordBatch(_ head: LogHead, at time: Instant) {
        writers[head.daemon] = time
        lastBatch = (head.daemon, time)
    }

    /// Records the duration of a transaction of this daemon.
    mutating func recordRoundTrip(_ time: Duration) { roundTrip = (roundTrip * 3 + time) / 4 }

    /// Returns when this daemon may write. If another daemon appends a batch earlier, the calling code must ask again.
    mutating func earliestWriteTime(at now: Instant) -> Instant {
        writers = writers.filter { $0.value + Self.writerLifetime > now }
        guard let lastBatch, writers.keys.contains(where: { $0 != daemon }) else { return now }
        let ring = Set(writers.keys).union([daemon]).sorted()
        guard let ownIndex = ring.firstIndex(of: daemon) else { return now }
        let lastWriterIndex = ring.firstIndex(of: lastBatch.daemon) ?? ownIndex
        let earlierTurns = (ownIndex - lastWriterIndex + ring.count - 1) % ring.count
        // The turns are approximate, because the daemons do not receive a batch at the same time.
        return lastBatch.time + min(roundTrip * Self.roundTripsPerTurn, Self.maxTurn) * earlierTurns
    }
}
