internal import SettingsAPI
internal import SettingsModel

/// One operation on one key.
extension Evaluator {
    func setting(_ operation: Transaction.Operation) throws(Problem) -> Evaluation {
        let suite = state.suite(operation.suite)
        try checkLock(operation.key, in: suite)
        var isRemoval = false
        switch operation.action {
        case .set: break
        case .delete:
            isRemoval = true
            if suite == nil { throw state.unknownSuite(operation.suite) }
        case .change: if suite == nil { throw state.unknownSuite(operation.suite) }
        }
        var draft = Draft(state, opensSuites: opensSuites)
        let position = try draft.touch(suite, operation.suite, operation.key, named: .path, isRemoval: isRemoval)
        try checkGuards(of: draft[position], in: suite)
        switch operation.action {
        case .set(let value):
            let isChecked = request.checkedAgainst != nil && request.checkedAgainst === suite?.schema
            draft.set(position, to: value, isChecked: isChecked)
        case .delete: draft.remove(position)
        case .change(let change): try draft.change(position, by: change, in: suite)
        }
        try draft.check()
        return finish(draft, draft[position])
    }

    private func finish(_ draft: Draft, _ key: Draft.Touched) -> Evaluation {
        let isDone = key.isDifferent && !request.isDryRun
        let before = key.before
        let presentTime = before.modified.milliseconds == 0 ? nil : before.modified
        var setting = key.setting(
            revision: isDone ? revision : before.revision, time: isDone ? time : presentTime)
        setting.isDryRun = request.isDryRun
        let created = before.stored == nil && key.stored != nil && key.isChanged
        let cursor = isDone ? Cursor(epoch: state.epoch, revision: revision) : present
        let answer = WriteAnswer(
            .setting(setting), created: created, cursor: cursor, commit: isDone ? revision : nil)
        guard isDone else { return unchanged(answer) }
        let changes = [key.change(revision: revision, time: time)]
        return .commit(commit(suites: draft.created(), changes), answer, schema: nil)
    }

    private func checkGuards(of key: Draft.Touched, in suite: Suite?) throws(Problem) {
        let current = key.before.revision
        let isStored = key.before.stored != nil
        for condition in request.guards where !condition.holds(revision: current, exists: isStored) {
            let what = "\(key.key) of suite \(key.suite)"
            var problem = Problem(
                .preconditionFailed, condition.detail(what, revision: current, exists: isStored))
            problem.current = state.current(key.suite, key.key)
            throw problem
        }
    }
}
