internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import Synchronization

/// The answers that a ``WorkScheduler`` computes for an event loop, and the computed answers that connections are still
/// sending. Requests for the same answer share one computation and one body. Owned by the event loop.
struct BackgroundAnswers {
    /// Identifies an answer. Requests with equal keys share the answer.
    enum Key: Hashable, Sendable {
        /// An answer that is not shared. The ticket identifies an unanswered request on its event loop.
        case request(Ticket)
        /// The answer to all reads or watches with the same ``AnswerKey`` (suites, keys, and the kind of the answer),
        /// computed from the state at `revision`, for clients that know all commits up to `clientRevision`.
        case answerKey(AnswerKey, clientRevision: Revision, revision: Revision)
        /// The answer to a GET with this target, computed from the state at `revision`, for callers with these grants;
        /// nil without access control.
        case target([UInt8], for: Grants?, revision: Revision)
    }

    /// A body, with the reservation of its memory. Each connection that sends the body retains this object.
    final class Body: Sendable {
        let bytes: [UInt8]
        private let reservation: MemoryBudget.Reservation

        init(_ bytes: [UInt8], _ reservation: MemoryBudget.Reservation) {
            (self.bytes, self.reservation) = (bytes, reservation)
        }
    }

    private struct Job {
        /// The requests that wait for the answer.
        var requests: [Ticket]
        let isWanted: WantedFlag
    }

    /// An answer that connections may still be sending. The body is nil after the last connection has sent it.
    private struct RecentAnswer {
        weak var body: Body?
        let head: Response
    }

    private var jobs: [Key: Job] = [:]
    private var recentAnswers: [Key: RecentAnswer] = [:]
    /// When this many recent answers are stored, `insert` removes the answers that no connection sends any more. More
    /// answers can be stored while connections are still sending them.
    private static let recentAnswersBeforeCleanup = 64

    /// Returns an answer if a connection is still sending it.
    func answerBeingSent(_ key: Key) -> Response? {
        guard let recent = recentAnswers[key], let body = recent.body else { return nil }
        return recent.head.with(body)
    }

    /// True if the answer is queued or being computed.
    func isPending(_ key: Key) -> Bool { jobs[key] != nil }

    /// Adds a request that waits for an answer. Returns nil if a job computes the answer already. Otherwise creates a
    /// job, and returns its flag; the caller must submit the work of the job to a scheduler.
    mutating func add(_ id: Ticket, to key: Key) -> WantedFlag? {
        guard jobs[key] == nil else {
            jobs[key]?.requests.append(id)
            return nil
        }
        let flag = WantedFlag()
        jobs[key] = Job(requests: [id], isWanted: flag)
        return flag
    }

    /// Removes a request that no longer waits for an answer. Cancels the job if no other request waits for the answer.
    mutating func remove(_ id: Ticket, from key: Key) {
        jobs[key]?.requests.removeAll { $0 == id }
        if let job = jobs[key], job.requests.isEmpty {
            job.isWanted.clear()
            jobs[key] = nil
        }
    }

    /// Removes a finished job. Returns the requests that wait for its answer; none if the job was cancelled.
    mutating func removeJob(_ key: Key) -> [Ticket] {
        jobs.removeValue(forKey: key)?.requests ?? []
    }

    /// Stores an answer for requests that arrive while a connection is still sending the answer.
    mutating func insert(_ answer: ComputedAnswer, for key: Key) {
        if case .request = key { return }
        if recentAnswers.count >= Self.recentAnswersBeforeCleanup {
            recentAnswers = recentAnswers.filter { $0.value.body != nil }
        }
        recentAnswers[key] = RecentAnswer(body: answer.body, head: answer.head)
    }

    /// A rendered answer, with the reservation of the memory of its body.
    struct ComputedAnswer: Sendable {
        let head: Response
        let body: Body
        /// The duration of rendering in nanoseconds.
        let duration: UInt64

        init(_ rendering: Rendering, _ reservation: MemoryBudget.Reservation) {
            let start = MonotonicClock.system.now()
            let response = rendering.make()
            duration = MonotonicClock.system.now() &- start
            reservation.resize(to: response.body.count)
            body = Body(response.body, reservation)
            var head = response
            head.body = []
            self.head = head
        }

        var response: Response { head.with(body) }
    }
}

/// A flag that is set while at least one request wants the result of a job. Thread-safe.
final class WantedFlag: Sendable {
    private let flag = Atomic(true)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func clear() { flag.store(false, ordering: .relaxed) }
}

extension Response {
    fileprivate func with(_ body: BackgroundAnswers.Body) -> Response {
        var response = self
        response.body = body.bytes
        response.bodyOwner = body
        return response
    }
}
