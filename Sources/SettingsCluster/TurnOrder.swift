/// The order in which daemons that write at the same time take turns, so that none sends a batch that loses to another's.
///
/// Each keeps it by what it sees in the log: next is the daemon whose name follows that of the last writer, among those
/// that wrote lately. One that has nothing to write lets its turn pass, and the others wait for it for some time.
struct TurnOrder: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A daemon that has not written for so long has no turn that others wait for.
    private static let memory = Duration.milliseconds(200)
    /// The time that a daemon is waited for, in transactions: with less, one that is only slow often loses its turn.
    private static let roundsPerTurn = 2.5
    private static let longestTurn = Duration.milliseconds(20)

    private let daemon: String
    private var writers: [String: Instant] = [:]
    private var last: (daemon: String, time: Instant)?
    /// The time that a transaction took lately.
    private var round = Duration.milliseconds(2)

    init(of daemon: String) {
        self.daemon = daemon
    }

    /// Takes note of a batch at the end of the log.
    mutating func note(_ head: LogHead, at time: Instant) {
        writers[head.daemon] = time
        last = (head.daemon, time)
    }

    /// Takes note of the time that a transaction of this daemon took.
    mutating func note(round time: Duration) {
        round = (round * 3 + time) / 4
    }

    /// Returns when this daemon may write, unless another batch comes before.
    mutating func turn(at now: Instant) -> Instant {
        writers = writers.filter { $0.value + Self.memory > now }
        guard let last, writers.keys.contains(where: { $0 != daemon }) else { return now }
        let ring = Set(writers.keys).union([daemon]).sorted()
        guard let own = ring.firstIndex(of: daemon) else { return now }
        let before = ring.firstIndex(of: last.daemon) ?? own
        let distance = (own - before + ring.count - 1) % ring.count
        // Another daemon hears of a batch somewhat later than the one that wrote it.
        return last.time + min(round * Self.roundsPerTurn, Self.longestTurn) * distance
    }
}
