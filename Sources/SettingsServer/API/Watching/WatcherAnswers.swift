internal import HTTPWire
internal import SettingsModel

/// The answers.
extension Watchers {
    /// The answer that tells of these commits. A long one is made beside the loop, for all who ask the same.
    func tell(
        _ question: SharedQuestion, _ commits: [KeptCommit], on state: State, to ticket: Ticket
    ) -> Handling {
        if let response = shared.answer(to: question, at: state.revision) { return .answer(handler.counted(response)) }
        guard case .answer(let limit, let keepsLatest) = question.form else { return .later }
        let make: @Sendable () -> Response = {
            let told = state.observed(
                question.subject, commits, from: question.after, limit: limit, keepsLatest: keepsLatest)
            return Response(json: told.jsonBytes(), cursor: state.cursor)
        }
        let weight = commits.reduce(0) { $0 + 1 + $1.commit.changes.count }
        guard weight > Rendering.mostOnLoop else {
            let response = make()
            shared.keep(response, for: question, at: state.revision)
            return .answer(handler.counted(response))
        }
        if shared.enqueue(ticket, for: question, at: state.revision) {
            handler.beside {
                let response = make()
                return { $0.watchers.made(response, for: question, at: state.revision) }
            }
        }
        return .later
    }

    private func made(_ response: Response, for question: SharedQuestion, at revision: Revision) {
        for ticket in shared.take(question, at: revision) { loop.respond(ticket, handler.counted(response)) }
    }

    /// That nothing has happened up to now.
    func quiet(_ subject: WatchSubject, after: Revision, on state: State) throws(Problem) -> Response {
        if subject.isOne, !state.hasSuite(subject.suites[0]) { throw Self.absent(subject, on: state) }
        let question = SharedQuestion(subject: subject, after: max(after, state.revision), form: .quiet)
        if !isStopping, let response = shared.answer(to: question, at: state.revision) { return response }
        var told = state.observed(subject, [], from: after)
        var response = Response(json: [], cursor: told.cursor)
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
        Rendering(weight: state.weight(of: subject)) {
            guard let observed = state.observed(subject, isReset: isReset) else {
                return Response(absent(subject, on: state), cursor: state.cursor)
            }
            return Response(json: observed.jsonBytes(), cursor: state.cursor)
        }
    }

    /// That there is no such suite, and that it is worth while to ask again.
    static func absent(_ subject: WatchSubject, on state: State) -> Problem {
        var problem = state.unknownSuite(subject.suites[0])
        problem.retryAfterMs = 1000
        return problem
    }
}
