internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import Synchronization

/// The answers that schedulers compute for one event loop, and the computed answers that connections still send.
///
/// Requests for the same answer share it. Owned by the event loop.
struct BackgroundAnswers {
    /// Identifies an answer.
    enum Key: Hashable, Sendable {
        /// An answer to one request.
        case request(Ticket)
        /// The answer to a question at a revision of the client, computed from the state at a revision.
        case question(Question, place: Revision, revision: Revision)
        /// The answer for all callers with these grants that send this target, computed from the state at a revision.
        case target([UInt8], for: Grants?, revision: Revision)
    }

    /// A body with the charge for its memory. Each connection that sends the body retains it.
    final class Body: Sendable {
        let bytes: [UInt8]
        private let charge: MemoryBudget.Reservation

        init(_ bytes: [UInt8], _ charge: MemoryBudget.Reservation) {
            self.bytes = bytes
            self.charge = charge
        }
    }

    private struct Job {
        var requests: [Ticket]
        let isWanted: WantedFlag
    }

    /// An answer that connections may still send.
    private struct RecentAnswer {
        weak var body: Body?
        let head: Response
    }

    private var jobs: [Key: Job] = [:]
    private var recentAnswers: [Key: RecentAnswer] = [:]
    private static let maximumRecentAnswers = 64

    /// Returns an answer that a connection still sends.
    func recentAnswer(_ key: Key) -> Response? {
        guard let known = recentAnswers[key], let body = known.body else { return nil }
        return known.head.with(body)
    }

    /// True if a scheduler computes the answer, or will.
    func isPending(_ key: Key) -> Bool { jobs[key] != nil }

    /// Adds a request that waits for an answer. Returns the flag of the job that the caller must submit; nil if the job has
    /// been submitted.
    mutating func add(_ id: Ticket, to key: Key) -> WantedFlag? {
        guard jobs[key] == nil else {
            jobs[key]?.requests.append(id)
            return nil
        }
        let flag = WantedFlag()
        jobs[key] = Job(requests: [id], isWanted: flag)
        return flag
    }

    /// Removes a request that does not wait any more. The job is dropped if no other request waits for its answer.
    mutating func remove(_ id: Ticket, from key: Key) {
        jobs[key]?.requests.removeAll { $0 == id }
        if let job = jobs[key], job.requests.isEmpty {
            job.isWanted.clear()
            jobs[key] = nil
        }
    }

    /// Ends a job. Returns the requests that wait for its answer.
    mutating func finish(_ key: Key) -> [Ticket] {
        jobs.removeValue(forKey: key)?.requests ?? []
    }

    /// Keeps an answer for requests that arrive while a connection sends it.
    mutating func keep(_ answer: ComputedAnswer, for key: Key) {
        if case .request = key { return }
        if recentAnswers.count >= Self.maximumRecentAnswers {
            recentAnswers = recentAnswers.filter { $0.value.body != nil }
        }
        recentAnswers[key] = RecentAnswer(body: answer.body, head: answer.head)
    }

    /// An answer with the charge for the memory of its body.
    struct ComputedAnswer: Sendable {
        let head: Response
        let body: Body
        /// The duration of the rendering in nanoseconds.
        let duration: UInt64

        init(_ rendering: Rendering, _ charge: MemoryBudget.Reservation) {
            let start = MonotonicClock.system.now()
            let response = rendering.make()
            duration = MonotonicClock.system.now() &- start
            charge.resize(to: response.body.count)
            body = Body(response.body, charge)
            var head = response
            head.body = []
            self.head = head
        }

        var response: Response { head.with(body) }
    }
}

/// A flag that is set until no request wants the result of a job. Thread-safe.
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
