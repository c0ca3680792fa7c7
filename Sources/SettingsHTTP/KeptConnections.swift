/// Connections that nobody uses at present. The one used last stands last, and is used first.
struct KeptConnections {
    private struct Kept {
        let socket: OpenSocket
        let since: ContinuousClock.Instant
    }

    private var kept: [Kept] = []
    private let most: Int
    private let idleLimit: Duration?

    /// `idleLimit` is how long one is kept; nil for without end.
    init(most: Int, idleLimit: Duration?) {
        self.most = most
        self.idleLimit = idleLimit
    }

    var count: Int { kept.count }

    /// When the oldest is too old; nil if none ever will be.
    var nextEnd: ContinuousClock.Instant? {
        guard let idleLimit, let first = kept.first else { return nil }
        return first.since + idleLimit
    }

    /// Keeps one more, and returns one that there is no room for.
    mutating func give(_ socket: OpenSocket, at now: ContinuousClock.Instant) -> OpenSocket? {
        kept.append(Kept(socket: socket, since: now))
        return kept.count > most ? kept.removeFirst().socket : nil
    }

    /// The one used last, unless that was too long ago.
    mutating func take(at now: ContinuousClock.Instant) -> (socket: OpenSocket?, old: [OpenSocket]) {
        let old = removeOld(at: now)
        return (kept.popLast()?.socket, old)
    }

    /// Takes out what is too old.
    mutating func removeOld(at now: ContinuousClock.Instant) -> [OpenSocket] {
        guard let idleLimit else { return [] }
        let old = kept.prefix { $0.since + idleLimit <= now }
        kept.removeFirst(old.count)
        return old.map(\.socket)
    }

    mutating func removeAll() -> [OpenSocket] {
        defer { kept = [] }
        return kept.map(\.socket)
    }
}
