internal import HTTPWire
internal import SettingsModel

/// What watchers are to be told who share an answer.
struct SharedQuestion: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        /// What happened, in one answer.
        case changes(limit: Int?, keepsLatest: Bool)
        /// What happened, as a stream tells it.
        case events
        /// That nothing has happened.
        case quiet
        /// The state, in one answer.
        case state(isReset: Bool)
        /// The state, as a stream begins.
        case opening(isReset: Bool)
        /// What a GET shows.
        case reading(Reading)
    }

    let subject: WatchSubject
    /// What they know; of no account where they are told what there is.
    var after = Revision.zero
    let form: Form
}

/// Answers as long as others may be waiting for the same: those to what was asked at one state.
struct SharedAnswers {
    private static let mostKept = 64
    private static let mostBytes = 8 << 20

    private var revision = Revision.zero
    private var made: [SharedQuestion: Response] = [:]
    private var bytes = 0
    /// What was asked last: those who watch the same ask one after the other.
    private var last: (question: SharedQuestion, response: Response)?
    /// Who waits for answers that are made beside the loop.
    private var making: [Making: [Ticket]] = [:]

    private struct Making: Hashable {
        let question: SharedQuestion
        let revision: Revision
    }

    /// The answer at a state, if it is kept.
    mutating func answer(to question: SharedQuestion, at revision: Revision) -> Response? {
        guard revision == self.revision else { return nil }
        if let last, last.question == question { return last.response }
        guard let response = made[question] else { return nil }
        last = (question, response)
        return response
    }

    mutating func keep(_ response: Response, for question: SharedQuestion, at revision: Revision) {
        let size = response.body.count
        if revision != self.revision || made.count >= Self.mostKept || bytes + size > Self.mostBytes { forget() }
        self.revision = revision
        guard size <= Self.mostBytes else { return }
        made[question] = response
        bytes += size
    }

    /// Puts somebody among those who wait for an answer that is being made. True for the first, who is to have it made.
    mutating func enqueue(_ ticket: Ticket, for question: SharedQuestion, at revision: Revision) -> Bool {
        let key = Making(question: question, revision: revision)
        making[key, default: []].append(ticket)
        return making[key]?.count == 1
    }

    /// Those who wait for an answer that was made.
    mutating func take(_ question: SharedQuestion, at revision: Revision) -> [Ticket] {
        making.removeValue(forKey: Making(question: question, revision: revision)) ?? []
    }

    /// Nobody is left who may ask the same.
    mutating func forget() {
        made = [:]
        bytes = 0
        last = nil
    }
}
