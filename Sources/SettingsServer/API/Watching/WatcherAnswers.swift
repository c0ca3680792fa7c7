internal import HTTPWire
internal import SettingsModel

/// The answers.
extension Watchers {
    /// The answer to a question: what somebody before was told, or a new one, which is made beside the loop if it is long,
    /// once for all who ask the same meanwhile.
    func answer(
        _ question: SharedQuestion, on state: State, to ticket: Ticket, _ rendering: () -> Rendering
    ) -> Handling {
        if let response = shared.answer(to: question, at: state.revision) { return .answer(handler.counted(response)) }
        let rendering = rendering()
        guard rendering.weight > Rendering.mostOnLoop else {
            let response = rendering.make()
            shared.keep(response, for: question, at: state.revision)
            return .answer(handler.counted(response))
        }
        makeBeside(question, at: state.revision, for: ticket, rendering.make)
        return .later
    }

    /// Has an answer made beside the loop, for all who ask the same meanwhile.
    func makeBeside(
        _ question: SharedQuestion, at revision: Revision, for ticket: Ticket,
        _ make: @escaping @Sendable () -> Response
    ) {
        guard shared.enqueue(ticket, for: question, at: revision) else { return }
        handler.beside {
            let response = make()
            return { $0.watchers.made(response, for: question, at: revision) }
        }
    }

    private func made(_ response: Response, for question: SharedQuestion, at revision: Revision) {
        for ticket in shared.take(question, at: revision) {
            switch question.form {
            case .events, .opening: told(ticket, response.body, upTo: revision)
            default: loop.respond(ticket, handler.counted(response))
            }
        }
    }

    /// The answer that tells of these commits.
    func tell(
        _ subject: WatchSubject, _ commits: [KeptCommit], after: Revision, limit: Int?, keepsLatest: Bool,
        on state: State
    ) -> Rendering {
        Rendering(weight: commits.weight) {
            let told = state.observed(subject, commits, from: after, limit: limit, keepsLatest: keepsLatest)
            return Response(toObserver: told.jsonBytes(), cursor: state.cursor)
        }
    }

    /// That nothing has happened up to now.
    func quiet(_ subject: WatchSubject, after: Revision, on state: State) -> Response {
        if !state.isThere(subject) { return absence(of: subject, on: state) }
        let question = SharedQuestion(subject: subject, after: max(after, state.revision), form: .quiet)
        if !isStopping, let response = shared.answer(to: question, at: state.revision) { return response }
        var told = state.observed(subject, [], from: after)
        var response = Response(toObserver: [], cursor: state.cursor)
        if isStopping {
            told.retryAfterMs = Int64.random(in: 100...3000)
            response.closes = true
        }
        response.body = told.jsonBytes()
        // Where everybody is to come back at another time, nobody shares an answer.
        if !isStopping { shared.keep(response, for: question, at: state.revision) }
        return response
    }

    static func state(_ subject: WatchSubject, isReset: Bool, on state: State) -> Rendering {
        Rendering(weight: state.weight(of: subject, upTo: Rendering.mostOnLoop)) {
            guard let observed = state.observed(subject, isReset: isReset) else {
                return Response(toObserver: absent(subject, on: state), cursor: state.cursor)
            }
            return Response(toObserver: observed.jsonBytes(), cursor: state.cursor)
        }
    }

    /// The answer to an observer of a suite that does not exist.
    func absence(of subject: WatchSubject, on state: State) -> Response {
        Response(toObserver: Self.absent(subject, on: state), cursor: state.cursor)
    }

    /// That there is no such suite, and that it is worth while to ask again.
    static func absent(_ subject: WatchSubject, on state: State) -> Problem {
        var problem = state.unknownSuite(subject.suites[0])
        problem.retryAfterMs = 1000
        return problem
    }
}

extension [KeptCommit] {
    /// How long it takes to tell of them.
    var weight: Int { reduce(0) { $0 + 1 + $1.commit.changes.count } }
}
