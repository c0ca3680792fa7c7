internal import Dispatch
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// When what waits is sent.
extension OutboxBackend {
    func sendKept() throws(BackendError) {
        inherit()
        // What others write meanwhile is theirs to wait for: nobody would come to an end of that.
        let last = state.withLock { $0.lastNumber }
        while state.withLock({ $0.endedNumber < last }) {
            // One at a time, so that setters have their turn.
            switch queue.sync(execute: step) {
            case .next: continue
            case .pauses(let reason): throw .unreachable(reason)
            case .isEmpty: return
            }
        }
    }

    /// Has what waits sent, up to a write whose setter waits for it. Nil if it is not done in time.
    func sendUntilDone(_ requestKey: RequestKey) -> Result<WriteSummary, BackendError>? {
        guard state.withLock({ $0.isAwaited(requestKey) }) else {
            return state.withLock { $0.stopWaiting(for: requestKey) }
        }
        let deadline = WaitingTime.deadline(after: patience)
        while ContinuousClock.now < deadline, case .next? = step(for: requestKey, by: deadline) {}
        return state.withLock { $0.stopWaiting(for: requestKey) }
    }

    /// Sends the first of those that wait, in turn with others who do, if a setter waits still. Nil if that is not done in
    /// time: whoever has the turn may be waiting for a server, and for longer than the setter may.
    private func step(for requestKey: RequestKey, by deadline: ContinuousClock.Instant) -> Step? {
        let result = StepResult()
        queue.async { [self] in
            if state.withLock({ $0.isAwaited(requestKey) }) { result.set(step()) } else { result.set(nil) }
        }
        return result.wait(until: deadline)
    }

    /// Something may be sent.
    func sendIfNeeded() {
        let plan = state.withLock { $0.needsPlan ? $0.planNext() : nil }
        if let plan { start(plan) }
    }

    /// Somebody is there, as it seems. Called by whoever reads for the whole process, who must not wait: the state may be
    /// locked until a disk is done.
    func wake() {
        guard hasKept.load(ordering: .relaxed), !isWoken.exchange(true, ordering: .relaxed) else { return }
        queue.async { [weak self] in
            guard let self else { return }
            isWoken.store(false, ordering: .relaxed)
            let plan = state.withLock { $0.pause == .away ? $0.planNext() : nil }
            if let plan { run(plan) }
        }
    }

    /// Nothing is tried for a while.
    func pause(_ reason: String, atLeast asked: Duration = .zero, isAnswer: Bool) {
        var generator = SystemRandomNumberGenerator()
        let planned = state.withLock { state -> (pause: Duration, stall: String?, plan: Int)? in
            guard let (pause, stall) = state.fail(reason, atLeast: asked, isAnswer: isAnswer, using: &generator) else {
                return nil
            }
            return (pause, stall, state.planNext(isAnswer ? .stalled : .away))
        }
        guard let (pause, stall, plan) = planned else { return }
        if let stall { tell(.stalled(stall)) }
        queue.asyncAfter(deadline: .after(pause)) { [weak self] in self?.run(plan) }
    }

    private func start(_ plan: Int) {
        queue.async { [weak self] in self?.run(plan) }
    }

    /// One step of a plan, then the next: so nothing holds the outbox when its adapter goes.
    private func run(_ plan: Int) {
        guard state.withLock({ $0.plan == plan }), case .next = step() else { return }
        start(plan)
    }
}

/// What a step comes to that another thread does.
private final class StepResult: Sendable {
    private let step = Mutex<OutboxBackend.Step?>(nil)
    private let isDone = DispatchSemaphore(value: 0)

    func set(_ step: OutboxBackend.Step?) {
        self.step.withLock { $0 = step }
        isDone.signal()
    }

    func wait(until deadline: ContinuousClock.Instant) -> OutboxBackend.Step? {
        _ = isDone.wait(timeout: .after(max(.zero, deadline - .now)))
        return step.withLock { $0 }
    }
}

/// Sending, on the queue.
extension OutboxBackend {
    enum Step: Sendable {
        /// There may be more.
        case next
        /// Nothing more can be sent now, for this reason; an attempt is planned.
        case pauses(String)
        /// There is nothing to send.
        case isEmpty
    }

    /// More than all who change one key at a time.
    private static let mostConflicts = 1000

    /// Sends the first of those that wait.
    private func step() -> Step {
        guard var first = state.withLock({ $0.next() }) else { return .isEmpty }
        let asKept = first.form
        if asKept.comparesRevisions { first.form = asKept.forLater }
        var result = Result { () throws(BackendError) in try inner.perform(first.form) }
        if first.form != asKept, case .failure(.refused(let problem)) = result, problem.code == .idempotencyMismatch {
            // It was done when it was sent first, in the form that compares revisions: its answer is given again.
            first.form = asKept
            result = Result { () throws(BackendError) in try inner.perform(asKept) }
        }
        switch SendOutcome(result, of: first.form) {
        case .done(let summary): return end(first, .success(summary))
        case .refused(let problem): return end(first, .failure(problem))
        case .conflict(let problem, let current): return change(first, after: problem, current)
        case .waits(let reason, let asked, let isAnswer):
            pause(reason, atLeast: asked, isAnswer: isAnswer)
            return .pauses(reason)
        }
    }

    private func end(_ write: KeptWrite, _ result: Result<WriteSummary, Problem>) -> Step {
        let isAwaited = state.withLock {
            $0.answer(write.original.requestKey, result.mapError { .refused($0) })
        }
        switch result {
        case .success(let summary): tell(.done(write.original, summary))
        case .failure(let problem): tell(.refused(write.original, problem, isAwaited: isAwaited))
        }
        return state.withLock { state in
            if state.endFirst() { return .next }
            hasKept.store(false, ordering: .releasing)
            return .isEmpty
        }
    }

    /// Has a write that met a conflict sent in another form, if its plan has one for what is there.
    private func change(_ write: KeptWrite, after problem: Problem, _ current: SettingState?) -> Step {
        guard write.conflicts < Self.mostConflicts, let key = write.form.key else {
            return end(write, .failure(problem))
        }
        do {
            let current = try current ?? inner.setting(key)
            guard let next = write.form.next(over: current, requestKey: requestKeys.next()) else {
                return end(write, .failure(write.form.explained(problem, current)))
            }
            // Before it is sent: otherwise, after a crash, both forms of it might be done.
            try state.withLock { state throws(StateFileError) in try state.store.replaceFirst(by: next) }
            return .next
        } catch let error as BackendError {
            guard case .waits(let reason, let asked, let isAnswer) = SendOutcome(.failure(error), of: write.form) else {
                return end(write, .failure(problem))
            }
            pause(reason, atLeast: asked, isAnswer: isAnswer)
            return .pauses(reason)
        } catch {
            pause("\(error)", isAnswer: true)
            return .pauses("\(error)")
        }
    }
}
