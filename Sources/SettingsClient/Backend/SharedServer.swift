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

/// What a server answered, and the history that this is from.
struct ServerAnswer<Output: Sendable>: Sendable {
    let result: Result<Output, SettingsError>
    /// Nil if there was no answer, or one that says nothing of it.
    let epoch: Epoch?
}

/// Asking, on the thread that calls.
extension SharedServer {
    func read<Output>(_ call: APICall<Output>, by deadline: ContinuousClock.Instant) -> ServerAnswer<Output> {
        do throws(SettingsError) {
            let reply = try pool.exchange(call.request, by: deadline)
            answered()
            let epoch = reply.field("settings-cursor").flatMap { Cursor($0) }?.epoch
            return ServerAnswer(
                result: Result { () throws(SettingsError) in try call.read(reply) }, epoch: epoch)
        } catch {
            return ServerAnswer(result: .failure(error), epoch: nil)
        }
    }

    /// Sends a write that has a request key, again and again if need be, until it is known what became of it or the time
    /// is over.
    func write<Output>(_ call: APICall<Output>, by deadline: ContinuousClock.Instant) -> ServerAnswer<Output> {
        var repeats = WriteRepeats(waitsForServer: !isAway.load(ordering: .relaxed))
        var generator = SystemRandomNumberGenerator()
        while true {
            let answer = read(call, by: deadline)
            guard case .failure(let error) = answer.result else { return answer }
            if let pause = repeats.pause(after: error, using: &generator) {
                let next = ContinuousClock.now + pause
                if next < deadline {
                    _ = poll(nil, 0, WireBuffer.milliseconds(until: next))
                    continue
                }
                if case .unreachable = error { isAway.store(true, ordering: .relaxed) }
            }
            return ServerAnswer(result: .failure(repeats.summary(of: error)), epoch: answer.epoch)
        }
    }
}

/// Who is there, and who waits for that.
extension SharedServer {
    /// Somebody had an answer.
    func answered() {
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
