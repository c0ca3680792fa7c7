internal import Glibc
internal import SettingsModel
internal import Synchronization

/// One server as all adapters of the process share it: the connection for what is asked, and whether anybody is there.
///
/// It lasts as long as an adapter that uses it, and its connections with it.
final class SharedServer: Sendable {
    let address: ServerAddress
    /// One connection, save while several threads ask at the same time.
    private let pool: ConnectionPool
    /// Whether a write waited until its deadline for somebody to be there. Until somebody is, others do not wait too.
    private let isAway = Atomic(false)
    /// Requests that go out later, as there was no answer last time, by who waits with them.
    private let later = Mutex<[ObjectIdentifier: LongPoll]>([:])
    private let hasLater = Atomic(false)

    private struct Entry {
        weak var server: SharedServer?
    }

    private static let known = Mutex<[ServerAddress: Entry]>([:])

    /// The server at an address.
    static func at(_ address: ServerAddress) -> SharedServer {
        known.withLock { known in
            if let server = known[address]?.server { return server }
            let server = SharedServer(address)
            known[address] = Entry(server: server)
            return server
        }
    }

    /// One that only its owner uses.
    init(_ address: ServerAddress) {
        self.address = address
        pool = ConnectionPool(address, keeping: 1)
    }

    deinit {
        let address = address
        // Somebody may have asked for the same address meanwhile and have got another object. That is let go of outside
        // the lock, as this may be its last moment too.
        _ = Self.known.withLock { known in
            let other = known[address]?.server
            if other == nil { known[address] = nil }
            return other
        }
    }
}

/// Asking, on the thread that calls.
extension SharedServer {
    func read<Output>(_ call: APICall<Output>, within timeout: Duration) throws(SettingsError) -> Output {
        try ask(call, by: .now + timeout)
    }

    /// Sends a write that has a request key, again and again if need be, until it is known what became of it or the time
    /// is over.
    func write<Output>(_ call: APICall<Output>, within timeout: Duration) throws(SettingsError) -> Output {
        let deadline = ContinuousClock.now + timeout
        var repeats = WriteRepeats(waitsForServer: !isAway.load(ordering: .relaxed))
        var generator = SystemRandomNumberGenerator()
        while true {
            do throws(SettingsError) {
                return try ask(call, by: deadline)
            } catch {
                guard let pause = repeats.pause(after: error, using: &generator) else {
                    throw repeats.summary(of: error)
                }
                let next = ContinuousClock.now + pause
                guard next < deadline else {
                    if case .unreachable = error { isAway.store(true, ordering: .relaxed) }
                    throw repeats.summary(of: error)
                }
                _ = poll(nil, 0, WireBuffer.milliseconds(until: next))
            }
        }
    }

    private func ask<Output>(
        _ call: APICall<Output>, by deadline: ContinuousClock.Instant
    ) throws(SettingsError) -> Output {
        let reply = try pool.exchange(call.request, by: deadline)
        isThere()
        return try call.read(reply)
    }
}

/// Who is there, and who waits for that.
extension SharedServer {
    /// Somebody had an answer.
    func isThere() {
        // A store would take the line of memory from other threads each time.
        if isAway.load(ordering: .relaxed) { isAway.store(false, ordering: .relaxed) }
        guard hasLater.load(ordering: .acquiring) else { return }
        let polls = later.withLock { later in
            hasLater.store(false, ordering: .relaxed)
            defer { later = [:] }
            return later.values
        }
        for poll in polls { poll.hurry() }
    }

    /// Has a request go out as soon as somebody has an answer, if it has not gone out by then; nil for none.
    func setLater(_ poll: LongPoll?, of follower: ObjectIdentifier) {
        later.withLock { later in
            later[follower] = poll
            hasLater.store(!later.isEmpty, ordering: .releasing)
        }
    }
}
