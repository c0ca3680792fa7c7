internal import SettingsAPI
internal import SettingsModel

/// The answer to a request that was done already.
extension WriteRequest {
    /// The first answer to this request, made again from the commit that it led to; an error if that was another request.
    ///
    /// - Parameter state: the present state, for its cursor and its secrets.
    func replay(_ commit: Commit, on state: State) throws(Problem) -> WriteAnswer {
        guard mayBeSame(as: commit) else {
            throw Problem(
                .idempotencyMismatch,
                "the idempotency key was used at revision \(commit.revision) for another request; use a new one")
        }
        if let answer = commit.answer { return replay(answer, of: commit.revision, on: state) }
        let changes = state.markingSecrets(commit.changes)
        if case .setting = command, let change = changes.first {
            var setting = change.settingAfter
            setting.isReplayed = true
            return WriteAnswer(
                .setting(setting), created: change.oldStored == nil && change.stored != nil, cursor: state.cursor,
                commit: commit.revision)
        }
        var summary = WriteSummary(revision: commit.revision, changed: true, changes: changes)
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
            .summary(summary), created: created, cursor: state.cursor, tag: tag(afterCommit: commit.revision),
            commit: commit.revision)
    }

    /// True if this request may have led to the commit.
    ///
    /// After an upgrade the kept digest can have another form, which cannot be compared. It counts as equal, or a client
    /// would be refused the answer that it lost; unless the commit is plainly not that of this request.
    private func mayBeSame(as commit: Commit) -> Bool {
        if digest?.digestForm == commit.requestDigest?.digestForm { return digest == commit.requestDigest }
        guard case .setting(let operation) = command else { return true }
        return commit.changes.map(\.key) == [operation.key] && commit.changes.map(\.suite) == [operation.suite]
    }

    /// The first answer to this request, which changed nothing.
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

    /// The revision after a commit of the suite or schema that the request is about.
    private func tag(afterCommit revision: Revision) -> Revision? {
        switch command {
        case .mergeSuite, .replaceSuite, .resetSuite, .setSchema, .refuseSchema, .removeSchema: revision
        case .undo(_, let suite, _): suite == nil ? nil : revision
        case .restore: revision
        case .dropSuite: .zero
        case .setting, .transaction: nil
        }
    }
}

extension String {
    /// The name of a digest's form, before the colon; nil for a digest of version 0.3.
    fileprivate var digestForm: Substring? {
        utf8.firstIndex(of: UInt8(ascii: ":")).map { self[..<$0] }
    }
}
