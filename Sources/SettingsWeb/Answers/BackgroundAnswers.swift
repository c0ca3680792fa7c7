internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import Synchronization

/// A table of the requests of one event loop whose answers are made in the background, and of recent answers that connections still send.
///
/// Callers with the same question share one answer. Owned by the event loop.
struct BackgroundAnswers {
    enum Key: Hashable, Sendable {
        /// An answer for one caller.
        case caller(Ticket)
        /// An answer for all callers with this question that have seen the revision `place`, made from the state at `revision`.
        case question(Question, place: Revision, revision: Revision)
        /// An answer for all callers with these grants that send this request target, made from the state at `revision`.
        case target([UInt8], for: Grants?, revision: Revision)
    }

    /// A body with the reservation of its memory, which lasts until no connection sends the body any more.
    final class Body: Sendable {
        let bytes: [UInt8]
        private let reservation: MemoryBudget.Reservation

        init(_ bytes: [UInt8], _ reservation: MemoryBudget.Reservation) {
            self.bytes = bytes
            self.reservation = reservation
        }
    }

    private struct Job {
        var callers: [Ticket]
        let isWanted: WantedFlag
    }

    /// An answer whose body a connection may still send.
    private struct Recent {
        weak var body: Body?
        let head: Response
    }

    private var jobs: [Key: Job] = [:]
    private var keys: [Ticket: Key] = [:]
    private var recent: [Key: Recent] = [:]
    private static let mostRecent = 64

    /// Returns an answer that a connection still sends.
    func recent(_ key: Key) -> Response? {
        guard let known = recent[key], let body = known.body else { return nil }
        return known.head.with(body)
    }

    /// True if an answer is being made.
    func isBeingMade(_ key: Key) -> Bool { jobs[key] != nil }

    /// Adds a caller. If the answer is not being made yet, returns a flag that stays set while a caller waits for the answer.
    mutating func add(_ ticket: Ticket, to key: Key) -> WantedFlag? {
        keys[ticket] = key
        guard jobs[key] == nil else {
            jobs[key]?.callers.append(ticket)
            return nil
        }
        let flag = WantedFlag()
        jobs[key] = Job(callers: [ticket], isWanted: flag)
        return flag
    }

    /// Removes a caller whose connection is closed. The answer is not made if no other caller waits for it.
    mutating func remove(_ ticket: Ticket) {
        guard let key = keys.removeValue(forKey: ticket) else { return }
        jobs[key]?.callers.removeAll { $0 == ticket }
        if let job = jobs[key], job.callers.isEmpty {
            job.isWanted.clear()
            jobs[key] = nil
        }
    }

    /// Removes an answer that was made or refused. Returns the callers that wait for it.
    mutating func finish(_ key: Key) -> [Ticket] {
        let callers = jobs.removeValue(forKey: key)?.callers ?? []
        for ticket in callers { keys[ticket] = nil }
        return callers
    }

    /// Keeps an answer for callers that ask for it while it is being sent.
    mutating func keep(_ answer: Made, for key: Key) {
        if case .caller = key { return }
        if recent.count >= Self.mostRecent { recent = recent.filter { $0.value.body != nil } }
        recent[key] = Recent(body: answer.body, head: answer.head)
    }

    /// An answer that was made.
    struct Made: Sendable {
        let head: Response
        let body: Body
        /// The nanoseconds that rendering it took.
        let time: UInt64

        /// Renders an answer, and resizes the reservation to the memory of the body.
        init(_ rendering: Rendering, _ reservation: MemoryBudget.Reservation) {
            let start = MonotonicClock.system.now()
            let response = rendering.make()
            time = MonotonicClock.system.now() &- start
            reservation.resize(to: response.body.count)
            body = Body(response.body, reservation)
            var head = response
            head.body = []
            self.head = head
        }

        var response: Response { head.with(body) }
    }
}

/// A flag that is set until no caller waits for the result of the work. Thread-safe.
final class WantedFlag: Sendable {
    private let flag = Atomic(true)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func clear() { flag.store(false, ordering: .relaxed) }
}

extension Response {
    fileprivate func with(_ body: BackgroundAnswers.Body) -> Response {
        var response = self
        response.body = body.bytes
        response.owner = body
        return response
    }
}
