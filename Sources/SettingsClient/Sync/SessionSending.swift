internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// Adopting orphans.
extension SuiteSession {
    /// Adopts the writes of programs that have gone. Does so once, before anything else.
    func adoptOrphans() {
        guard let outbox, !outbox.isOpen else { return }
        let found = outbox.use { store -> OutboxStore.Inheritance? in
            if outbox.isOpen { return nil }
            defer { outbox.open() }
            return look(&store)
        }
        if let found { proceed(found) }
    }

    /// Adopts orphans, and returns only troubles that were not reported before.
    private func look(_ store: inout OutboxStore) -> OutboxStore.Inheritance {
        var found = store.inherit()
        let count = store.count
        found.troubles = mutate { [found] state in
            if state.sending.count == 0 { state.sending.reason = "an earlier run could not send them" }
            state.sending.count = count
            for write in found.writes {
                switch write.action {
                case .reset: state.replica.beginReset(write.requestKey)
                case .transaction: state.replica.begin(write.requestKey, write.operations)
                }
            }
            return state.sending.new(found.troubles)
        }
        return found
    }

    /// Reports and sends what was found. Programs that have locked their files may end, so it looks again later.
    private func proceed(_ found: OutboxStore.Inheritance) {
        for trouble in found.troubles {
            report(.unusableFile(path: trouble.path, reason: trouble.reason), nil, .write)
        }
        sendIfNeeded()
        guard found.hasOthers else { return }
        queue.asyncAfter(deadline: .after(times.look)) { [weak self] in
            guard let self, let outbox else { return }
            proceed(outbox.use { look(&$0) })
        }
    }
}

/// When kept writes are sent.
extension SuiteSession {
    /// Sends all that is kept now, and waits for it.
    func sendKept() throws(BackendError) {
        adoptOrphans()
        // Writes that other threads add meanwhile are not waited for.
        let last = state.withLock { $0.sending.endedCount + $0.sending.count }
        while state.withLock({ $0.sending.endedCount < last }) {
            // One at a time, so that setters have their turn.
            switch queue.sync(execute: step) {
            case .next: continue
            case .pauses(let reason): throw .unreachable(reason)
            case .isEmpty: return
            }
        }
    }

    /// Sends what is kept unless an attempt is planned.
    func sendIfNeeded() {
        if let plan = state.withLock({ $0.sending.planNext() }) { startSending(plan) }
    }

    func startSending(_ plan: Int) {
        queue.async { [weak self] in self?.run(plan) }
    }

    /// Takes one step of a plan and queues the next, so that nothing retains the session when its adapters go.
    private func run(_ plan: Int) {
        guard state.withLock({ $0.sending.plan == plan }), case .next = step() else { return }
        startSending(plan)
    }

    /// Plans the next attempt for later, and wakes the setters that wait.
    func pause(_ reason: String, atLeast asked: Duration = .zero, isAnswer: Bool) {
        typealias Planned = (pause: Duration, plan: Int, stall: String?, waiters: [Sending.Waiter])
        var generator = SystemRandomNumberGenerator()
        let planned = state.withLock { state -> Planned? in
            let pause = state.availability.noteFailure(isAnswer: isAnswer, atLeast: asked, using: &generator)
            guard let plan = state.sending.planNext(isUrgent: true) else { return nil }
            let stall = isAnswer ? state.sending.stall(reason) : nil
            state.sending.reason = reason
            return (pause, plan, stall, state.sending.waitersInVain)
        }
        guard let planned else { return }
        for waiter in planned.waiters { waiter.semaphore.signal() }
        if let stall = planned.stall { report(.kept(stall), nil, .write) }
        queue.asyncAfter(deadline: .after(planned.pause)) { [weak self] in self?.run(planned.plan) }
    }
}

/// Sending, on the queue.
extension SuiteSession {
    private enum Step: Sendable {
        /// There may be more.
        case next
        /// Nothing more can be sent now, for this reason; an attempt is planned.
        case pauses(String)
        /// There is nothing to send.
        case isEmpty
    }

    /// Sends the first of the writes that are kept.
    private func step() -> Step {
        guard let outbox, var first = first(in: outbox) else { return .isEmpty }
        let asKept = first.form
        if asKept.comparesRevisions { first.form = asKept.forLater }
        var result = Result { () throws(BackendError) in try send(first.form) }
        if first.form != asKept, case .failure(.refused(let problem)) = result, problem.code == .idempotencyMismatch {
            // It was done in the form that compares revisions: its answer is given again.
            first.form = asKept
            result = Result { () throws(BackendError) in try send(asKept) }
        }
        switch SendOutcome(result, of: first.form) {
        case .done(let summary): return end(first, .success(summary), outbox)
        case .refused(let problem): return end(first, .failure(problem), outbox)
        case .conflict(let problem, let current): return resolve(first, after: problem, current, outbox)
        case .waits(let reason, let asked, let isAnswer):
            pause(reason, atLeast: asked, isAnswer: isAnswer)
            return .pauses(reason)
        }
    }

    private func first(in outbox: Outbox) -> KeptWrite? {
        outbox.use { store in
            let first = store.first
            if first == nil { state.withLock { $0.sending.endPlan() } }
            return first
        }
    }

    private func end(_ write: KeptWrite, _ result: Result<WriteSummary, Problem>, _ outbox: Outbox) -> Step {
        let original = write.original
        let (isAwaited, leavesOpen) = mutate { state in
            let leavesOpen =
                if case .success(let summary) = result, original.removedKeys?.isEmpty != true {
                    state.replica.leavesOpen(summary, removalOf: original.removedKeys)
                } else {
                    false
                }
            state.replica.end(original, result)
            return (state.sending.answer(original.requestKey, result.mapError { .refused($0) }), leavesOpen)
        }
        if leavesOpen { refresh() }
        if case .failure(let problem) = result, !isAwaited { reportRefusal(of: original, problem) }
        let (isEmpty, waiter) = outbox.use { store in
            store.endFirst()
            let left = store.count
            return state.withLock { state in
                state.sending.endFirst(left: left)
                return (left == 0, state.sending.waiter(for: original.requestKey))
            }
        }
        waiter?.semaphore.signal()
        return isEmpty ? .isEmpty : .next
    }

    /// Replaces a write that met a conflict by another form, if its plan has one for what is there.
    private func resolve(
        _ write: KeptWrite, after problem: Problem, _ current: SettingState?, _ outbox: Outbox
    ) -> Step {
        guard write.conflicts < Self.mostConflicts, let key = write.form.key else {
            return end(write, .failure(problem), outbox)
        }
        do {
            let current = try current ?? backend.setting(key)
            guard let next = write.form.resolved(over: current, as: .unique()) else {
                return end(write, .failure(write.form.explained(problem, current)), outbox)
            }
            // Before it is sent: after a crash both forms might be done otherwise.
            try outbox.use { store throws(FileError) in try store.replaceFirst(by: next) }
            return .next
        } catch let error as BackendError {
            guard case .waits(let reason, let asked, let isAnswer) = SendOutcome(.failure(error), of: write.form) else {
                return end(write, .failure(problem), outbox)
            }
            pause(reason, atLeast: asked, isAnswer: isAnswer)
            return .pauses(reason)
        } catch {
            pause("\(error)", isAnswer: true)
            return .pauses("\(error)")
        }
    }

    /// Reports the refusal of a write whose setter has returned.
    private func reportRefusal(of write: PendingChange, _ problem: Problem) {
        if write.isVain(after: problem) { return }
        if case .yielding = write.conflict, problem.code == .preconditionFailed { return }
        report(.refused(Refusal(write.explained(problem))), write.key, .write)
    }
}

extension Sending {
    /// Returns the report that the server takes no writes; nil if it was made.
    fileprivate mutating func stall(_ reason: String) -> String? {
        if isStallReported { return nil }
        isStallReported = true
        let what = count == 1 ? "a write waits, as it is not taken" : "\(count) writes wait, as the first is not taken"
        return "\(what): \(reason)"
    }
}

extension ReplicaState {
    /// Takes in the settings whose conditions did not hold. A refusal tells nothing of secrets.
    mutating func learn(_ problem: Problem) {
        for failed in problem.failed {
            if case .setting(let current) = failed.current, !current.isConcealed { learn(current, fromRefusal: true) }
        }
    }

    /// Ends a kept write.
    fileprivate mutating func end(_ write: PendingChange, _ result: Result<WriteSummary, Problem>) {
        switch (write.action, result) {
        case (.reset, .success(let summary)): endReset(write.requestKey, summary)
        case (.transaction, .success(let summary)): settle(write.requestKey, write.operations, summary)
        case (.reset, .failure(let problem)):
            learn(problem)
            endReset(write.requestKey, nil)
        case (.transaction, .failure(let problem)):
            learn(problem)
            abandon(write.requestKey, write.operations)
        }
    }
}
