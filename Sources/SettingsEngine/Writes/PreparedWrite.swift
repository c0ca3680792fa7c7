package import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// A write that was decided on an earlier state. The decision is used, once, if what it rests on has not changed since.
package final class PreparedWrite: Sendable {
    private let decision: Mutex<WriteDecision?>
    /// The suites that the decision rests on, with their revisions; nil for one that was not there.
    private let suites: [SuiteName: Revision?]
    private let lastDrop: Revision

    /// Keeps a decision that has a commit.
    package init(_ decision: WriteDecision, of request: WriteRequest, on state: State) {
        self.decision = Mutex(decision)
        suites = Dictionary(
            (request.past?.commit?.commit.suites ?? request.command.suites(on: state)).map {
                ($0, state.revision(of: $0))
            },
            uniquingKeysWith: { first, _ in first })
        lastDrop = state.lastDrop
    }

    /// Returns the decision as it would be made on a state, with another revision and time; nil if that is not known.
    package func decision(on state: State, revision: Revision, time: Timestamp) -> WriteDecision? {
        guard state.lastDrop == lastDrop, suites.allSatisfy({ state.revision(of: $0.key) == $0.value }) else {
            return nil
        }
        return decision.withLock { $0.take() }?.moved(to: Cursor(epoch: state.epoch, revision: revision), at: time)
    }
}

extension State {
    fileprivate func revision(of name: SuiteName) -> Revision? {
        suites.with(name.text.utf8Span.span) { $0.revision }
    }
}

extension WriteRequest.Command {
    /// The suites that the decision depends on.
    fileprivate func suites(on state: State) -> [SuiteName] {
        switch self {
        case .undo(_, let name?, _), .restore(let name, _, _): [name]
        case .undo(let undo, nil, _): state.history.commit(undo.revision)?.commit.suites ?? []
        case .setting(let operation): [operation.suite]
        case .mergeSuite(let name, _), .replaceSuite(let name, _), .resetSuite(let name, _), .dropSuite(let name),
            .setSchema(let name, _, _), .refuseSchema(let name, _), .removeSchema(let name):
            [name]
        case .transaction(let transaction):
            transaction.operations.map(\.suite)
                + transaction.conditions.map { condition in
                    switch condition {
                    case .suite(let name, _), .setting(let name, _, _): name
                    }
                }
        }
    }
}

extension WriteDecision {
    /// Gives the commit, and the answer about it, another revision and time.
    fileprivate consuming func moved(to cursor: Cursor, at time: Timestamp) -> WriteDecision {
        var decision = self
        let (before, revision) = (decision.answer.commit, cursor.revision)
        var body = decision.answer.body
        // Else the changes would be copied, which the commit shares.
        switch body {
        case .setting: break
        case .change: body = .change([])
        case .summary(var summary):
            summary.changes = []
            body = .summary(summary)
        }
        decision.answer.body = body
        decision.commit?.move(to: revision, at: time)
        switch body {
        case .setting(var setting):
            (setting.revision, setting.modified) = (revision, time)
            decision.answer.body = .setting(setting)
        case .change: decision.answer.body = .change(decision.commit?.changes ?? [])
        case .summary(var summary):
            summary.revision = revision
            if summary.schemaRevision != nil { summary.schemaRevision = revision }
            summary.changes = decision.commit?.changes ?? []
            decision.answer.body = .summary(summary)
        }
        decision.answer.cursor = cursor
        if decision.answer.tag == before { decision.answer.tag = revision }
        decision.answer.commit = revision
        return decision
    }
}

extension Commit {
    fileprivate mutating func move(to revision: Revision, at time: Timestamp) {
        (self.revision, self.time) = (revision, time)
        for index in changes.indices { (changes[index].revision, changes[index].modified) = (revision, time) }
        for index in suiteChanges.indices {
            guard case .schemaSet(_, let document) = suiteChanges[index].kind else { continue }
            suiteChanges[index].kind = .schemaSet(revision: revision, document: document)
        }
    }
}
