internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import Synchronization

/// A table of the long answers that are being made beside one loop, and of those that connections still send.
///
/// Callers that ask the same share one answer. Runs on its loop.
struct LongAnswers {
    enum Key: Hashable, Sendable {
        /// An answer for one caller.
        case caller(Ticket)
        /// An answer for all that ask this at a place, of a state.
        case question(Question, place: Revision, revision: Revision)
        /// An answer for all callers with these grants that send this target, of a state.
        case target([UInt8], for: Grants?, revision: Revision)
    }

    /// A body with the charge for its memory, which lasts until no connection sends it any more.
    final class Body: Sendable {
        let bytes: [UInt8]
        private let charge: MemoryBudget.Reservation

        init(_ bytes: [UInt8], _ charge: MemoryBudget.Reservation) {
            self.bytes = bytes
            self.charge = charge
        }
    }

    private struct Job {
        var callers: [Ticket]
        let isWanted: WantedFlag
    }

    /// An answer whose body some connection may still send.
    private struct Recent {
        weak var body: Body?
        let head: Response
    }

    private var jobs: [Key: Job] = [:]
    private var keys: [Ticket: Key] = [:]
    private var recent: [Key: Recent] = [:]
    private static let mostRecent = 64

    /// Returns an answer that some connection still sends.
    func recent(_ key: Key) -> Response? {
        guard let known = recent[key], let body = known.body else { return nil }
        return known.head.with(body)
    }

    /// True if an answer is being made.
    func isBeingMade(_ key: Key) -> Bool { jobs[key] != nil }

    /// Adds a caller. Returns the flag of a job that is to be started, or nil if there is one.
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

    /// Removes a caller that is gone. Its answer is not made if no other waits for it.
    mutating func remove(_ ticket: Ticket) {
        guard let key = keys.removeValue(forKey: ticket) else { return }
        jobs[key]?.callers.removeAll { $0 == ticket }
        if let job = jobs[key], job.callers.isEmpty {
            job.isWanted.clear()
            jobs[key] = nil
        }
    }

    /// Ends a job. Returns those that wait for it.
    mutating func finish(_ key: Key) -> [Ticket] {
        let callers = jobs.removeValue(forKey: key)?.callers ?? []
        for ticket in callers { keys[ticket] = nil }
        return callers
    }

    /// Notes an answer for callers that come while it is being sent.
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

        init(_ rendering: Rendering, _ charge: MemoryBudget.Reservation) {
            let start = MonotonicClock.system.now()
            let response = rendering.make()
            time = MonotonicClock.system.now() &- start
            charge.resize(to: response.body.count)
            body = Body(response.body, charge)
            var head = response
            head.body = []
            self.head = head
        }

        var response: Response { head.with(body) }
    }
}

/// A flag that is set until no caller wants the result of a job.
final class WantedFlag: Sendable {
    private let flag = Atomic(true)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func clear() { flag.store(false, ordering: .relaxed) }
}

extension Response {
    fileprivate func with(_ body: LongAnswers.Body) -> Response {
        var response = self
        response.body = body.bytes
        response.owner = body
        return response
    }
}
