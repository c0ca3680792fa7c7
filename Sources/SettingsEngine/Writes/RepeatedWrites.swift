internal import SettingsAPI
internal import SettingsModel

/// Answers to repeated requests. A client repeats a request with the same `Idempotency-Key` if it got no answer. A
/// suite is a named set of settings.
extension WriteRequest {
    /// Answers a repeated request from the commit of the first request. Throws if the two requests differ. `state` is
    /// the present state. The answer has the cursor of this state (the name of the history, and the number of the last
    /// commit). The schemas of this state say which keys are secret now.
    func replay(_ commit: Commit, on state: State) throws(Problem) -> WriteAnswer {
        guard couldHaveMade(commit) else {
            throw Problem(
                .idempotencyMismatch,
                "the idempotency key was used at revision \(commit.revision) for another request; use a new key")
        }
        var answer = replayWithoutPendingAction(commit, on: state)
        guard !commit.pending.isEmpty else { return answer }
        // The commit may also have ended other pending actions (reverts and writes at a deadline), for example the
        // commit of an undo or of a drop. The answer does not mention these actions.
        let id = if case .pending(let id, _) = task { id } else { PendingID(commit.revision) }
        if let event = commit.pending.first(where: { $0.action.id == id }) {
            answer.pending = WriteAnswer.Pending(PendingDescription(event, in: commit))
        }
        return answer
    }

    private func replayWithoutPendingAction(_ commit: Commit, on state: State) -> WriteAnswer {
        if let answer = commit.answer { return replay(answer, of: commit.revision, on: state) }
        let changes = state.markingSecrets(commit.changes)
        if case .setting = command, let change = changes.first {
            var setting = change.settingAfter
            setting.isReplayed = true
            return WriteAnswer(
                .setting(setting), created: change.oldStored == nil && change.stored != nil, cursor: state.cursor,
                commit: commit.revision)
        }
        // A commit without changes and without a stored answer only changes pending actions.
        let isChanged = !changes.isEmpty || !commit.suiteChanges.isEmpty
        var summary = WriteSummary(revision: commit.revision, changed: isChanged, changes: changes)
        summary.isReplayed = true
        var created = false
        for change in commit.suiteChanges {
            switch change.kind {
            case .schemaSet(let revision, _):
                summary.schemaRevision = revision
                created = change.replaced == nil
            case .schemaRemoved: summary.schemaRevision = commit.revision
            case .created, .dropped: break
            }
        }
        return WriteAnswer(
            .summary(summary), created: created, cursor: state.cursor,
            tag: isChanged ? tag(afterCommit: commit.revision) : nil,
            commit: commit.revision)
    }

    /// True if the commit may be the commit of this request. After an upgrade of the daemon, the digest in the commit
    /// may have another format than the digest of the request, so that the digests cannot be compared. The request then
    /// counts as the same request, so that a client that lost the answer can get the answer. The exception is a request
    /// for another setting than the setting in the commit.
    private func couldHaveMade(_ commit: Commit) -> Bool {
        if digest?.digestFormat == commit.requestDigest?.digestFormat { return digest == commit.requestDigest }
        guard case .setting(let operation) = command else { return true }
        return commit.changes.map(\.key) == [operation.key] && commit.changes.map(\.suite) == [operation.suite]
    }

    /// Returns the answer that the commit stores. A commit stores its answer if the answer does not follow from the
    /// changes of the commit: the request changed nothing, or a restore skipped values.
    private func replay(_ answer: Commit.Answer, of commit: Revision, on state: State) -> WriteAnswer {
        switch answer {
        case .setting(var setting):
            setting.isReplayed = true
            setting.isSecret = setting.isSecret || state.suite(setting.suite)?.isSecret(setting.key) ?? false
            return WriteAnswer(.setting(setting), cursor: state.cursor, commit: commit)
        case .summary(var summary):
            summary.isReplayed = true
            return WriteAnswer(
                .summary(summary), cursor: state.cursor, tag: tag(afterCommit: summary.revision), commit: commit)
        }
    }

    /// The revision (commit number) for the `ETag` of the answer: the revision of the suite or schema after the commit.
    /// Zero if the suite was dropped; nil for a write of one setting, and for a request that names no single suite.
    private func tag(afterCommit revision: Revision) -> Revision? {
        switch command {
        case .mergeSuite, .replaceSuite, .resetSuite, .setSchema, .removeSchema, .restore: revision
        case .undo(_, let suite, _): suite == nil ? nil : revision
        case .dropSuite: .zero
        case .setting, .transaction: nil
        // The first request set the schema. After an upgrade, the daemon no longer accepts the schema of the request.
        case nil: if case .refuseSchema = task { revision } else { nil }
        }
    }
}

extension String {
    /// The name of the format of a digest, before the colon; nil for a digest that version 0.3 of the daemon made.
    fileprivate var digestFormat: Substring? {
        utf8.firstIndex(of: UInt8(ascii: ":")).map { self[..<$0] }
    }
}
