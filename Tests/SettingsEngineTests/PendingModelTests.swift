import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

/// Makes random writes with deadlines (`Settings-Confirm`, `Settings-Until`, `Settings-Effective`), and compares their
/// effects with `PendingModel`.
@Suite(.ownThread)
struct PendingModelTests {
    private struct Run {
        var staged: StagedState
        /// The state after a replay of the journal.
        var replayed: State
        var model = PendingModel()
        /// The time in milliseconds.
        var clock: Int64 = 1_760_000_000_000
        let seed: UInt64
        var counts: [String: Int] = [:]

        init(seed: UInt64) throws {
            let state = State(epoch: try #require(Epoch("e0")))
            staged = StagedState(state)
            replayed = state
            self.seed = seed
        }

        var context: Comment { "seed \(seed), at \(staged.revision), clock \(clock)" }
        var now: Timestamp { Timestamp(milliseconds: clock) }

        /// Decides a write. Compares its commit with the commit that is read from a line of a journal, and applies this
        /// commit to `replayed`.
        mutating func write(_ request: WriteRequest) throws -> Result<Commit?, Problem> {
            do throws(Problem) {
                let commit = try staged.write(request, at: now).commit?.commit
                if let commit {
                    do {
                        let read = try commit.writtenToJournalAndRead(on: replayed)
                        try #require(read == commit, context)
                        try replayed.apply(read)
                    } catch {
                        Issue.record("\(error), \(context)")
                    }
                }
                return .success(commit)
            } catch {
                return .failure(error)
            }
        }

        mutating func count(_ event: String) { counts[event, default: 0] += 1 }

        /// Makes a write in the state and in the model, and compares the results. `deadlines` is nil for a write
        /// without deadlines.
        mutating func write(_ command: WriteCommand, _ deadlines: WriteRequest.Deadlines?) throws {
            var request = WriteRequest(command)
            request.deadlines = deadlines
            let time = Timestamp(milliseconds: commitTime)
            let before = model.plainSuites
            var expected = before
            let isScheduled = deadlines?.canonicalTexts.contains { $0.hasPrefix("effective") } ?? false
            let revision = try #require(staged.revision.advanced(by: 1))
            let modelResult = Result { try expected.apply(command, at: revision) }
            let result = try write(request)
            switch (result, modelResult) {
            case (.failure(let problem), .failure(let refusal as PlainSuites.Refusal)):
                #expect(problem.code.map { refusal.codes.contains($0) } ?? false, "\(problem), \(context)")
            case (.success(let commit), .success(let changed)):
                guard !isScheduled else {
                    let commit = try #require(commit, context)
                    guard case .created(let action)? = commit.pending.first else {
                        Issue.record("a scheduled write has no action, \(context)")
                        return
                    }
                    let suites = Set(action.scopes.map(\.suite.text))
                    model.actions[action.id] = PendingModel.Action(
                        deadline: action.deadline.milliseconds,
                        task: .write(command, until: action.until?.milliseconds), suites: suites)
                    return count("scheduled")
                }
                try #require((commit != nil) == (changed != nil), context)
                guard let commit else { return }
                model.plainSuites = expected
                updateActions(after: command, commit: commit.revision, from: before, except: nil)
                guard deadlines != nil else { return }
                guard case .created(let action)? = commit.pending.first(where: { $0.action.id == PendingID(revision) })
                else {
                    Issue.record("a write with a deadline has no action, \(context)")
                    return
                }
                #expect(action.deadline > time, context)
                model.actions[action.id] = makeRevert(of: commit.revision, action.deadline, before: before)
                count("with a deadline")
            default: Issue.record("\(result) instead of \(modelResult), \(context): \(command)")
            }
        }

        /// As in `StagedState`: if the clock was set back by at most a minute, a commit has the time of the last
        /// commit.
        private var commitTime: Int64 {
            let lastTime = staged.state.time.milliseconds
            return clock < lastTime && lastTime - clock <= 60_000 ? lastTime : clock
        }

        private func makeRevert(of commit: Revision, _ deadline: Timestamp, before: PlainSuites) -> PendingModel.Action
        {
            PendingModel.Action(
                deadline: deadline.milliseconds, task: .revert(before: before, commit: commit, recreated: []),
                suites: PendingModel.suitesChanged(from: before, to: model.plainSuites, at: commit))
        }

        /// Applies the effects of a commit on the pending actions of the model. Dropping a suite ends the actions that
        /// concern only this suite, except the action `id`, which the commit carries out.
        private mutating func updateActions(
            after command: WriteCommand, commit: Revision, from before: PlainSuites, except id: PendingID?
        ) {
            model.recordCreations(from: before)
            model.droppedSuites[commit] = Set(before.suites.keys).subtracting(model.plainSuites.suites.keys)
            guard case .dropSuite(let suite) = command else { return }
            for (other, action) in model.actions where action.suites == [suite.text] && other != id {
                model.actions[other] = nil
                count("ended by a drop")
            }
        }

        private mutating func revertInModel(_ id: PendingID, _ action: PendingModel.Action, at revision: Revision) {
            guard case .revert(let old, let commit, let recreated) = action.task else { return }
            let before = model.plainSuites
            model.revert(before: old, commit: commit, recreated: recreated, at: revision)
            model.recordCreations(from: before)
            model.actions[id] = nil
        }

        /// Carries out the actions that are due, in their order.
        mutating func carryOutDueActions() throws {
            while let (id, action) = model.actions.filter({ $0.value.deadline <= clock })
                .min(by: { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) })
            {
                let deadline = Timestamp(milliseconds: action.deadline)
                // A command with a deadline that is not the deadline of the action must have no effect.
                let otherDeadline = Timestamp(milliseconds: action.deadline + 1)
                try #require(try write(WriteRequest(.carryOut(id, deadline: otherDeadline))).get() == nil, context)
                let commit = try #require(try write(WriteRequest(.carryOut(id, deadline: deadline))).get(), context)
                switch action.task {
                case .revert:
                    revertInModel(id, action, at: commit.revision)
                    count("reverted")
                case .write(let command, let until):
                    try carryOut(command, until: until, id, commit)
                }
                // A second attempt does nothing, unless the action now has a later deadline.
                if model.actions[id] == nil {
                    try #require(try write(WriteRequest(.carryOut(id, deadline: deadline))).get() == nil, context)
                }
                try check()
            }
        }

        private mutating func carryOut(
            _ command: WriteCommand, until: Int64?, _ id: PendingID, _ commit: Commit
        ) throws {
            let before = model.plainSuites
            var expected = before
            let event = commit.pending.first { $0.action.id == id }
            model.actions[id] = nil
            switch Result(catching: { try expected.apply(command, at: commit.revision) }) {
            case .failure:
                guard let end = event?.end, end.outcome == .refused else {
                    Issue.record("a scheduled write was not refused, \(context)")
                    return
                }
                #expect(commit.changes.isEmpty && commit.suiteChanges.isEmpty && end.refusal != nil, context)
                count("refused")
            case .success(let changed):
                model.plainSuites = expected
                updateActions(after: command, commit: commit.revision, from: before, except: id)
                if let until, changed != nil {
                    model.actions[id] = makeRevert(
                        of: commit.revision, Timestamp(milliseconds: until), before: before)
                    count("carried out until a time")
                } else {
                    guard event?.end?.outcome == .carriedOut else {
                        Issue.record("a scheduled write was not carried out, \(context)")
                        return
                    }
                    count("carried out")
                }
            }
        }

        /// Sends a request (confirm, revert, cancel or extend) about an action, which may have ended or never existed.
        mutating func request(_ id: PendingID, _ pendingRequest: PendingRequest) throws {
            let action = model.actions[id]
            let isWrite = if case .write? = action?.task { true } else { false }
            let result = try write(WriteRequest(.pending(id, pendingRequest)))
            guard let action else {
                guard case .failure(let problem) = result else {
                    Issue.record("an ended action accepted a request, \(context)")
                    return
                }
                #expect(problem.code == .pendingEnded || problem.code == .unknownPending, context)
                return
            }
            switch (pendingRequest, result) {
            case (.confirm, .success) where !isWrite, (.cancel, .success) where isWrite: model.actions[id] = nil
            case (.revert, .success(let commit?)) where !isWrite:
                revertInModel(id, action, at: commit.revision)
            case (.extend, .success(let commit?)):
                guard case .moved(let moved)? = commit.pending.first else {
                    Issue.record("an extension does not move the deadline, \(context)")
                    return
                }
                model.actions[id]?.deadline = moved.deadline.milliseconds
            case (.confirm, .failure(let problem)), (.revert, .failure(let problem)):
                #expect(isWrite && problem.code == .invalidOperation, context)
            case (.cancel, .failure(let problem)): #expect(!isWrite && problem.code == .invalidOperation, context)
            // The daemon refuses a deadline of a scheduled write that is after the end of its effect.
            case (.extend, .failure(let problem)): #expect(problem.code == .badRequest, context)
            default: Issue.record("\(pendingRequest): \(result), \(context)")
            }
            count("requests")
        }

        /// Undoes a commit before its revert is due. The undo ends the pending revert.
        mutating func undo(_ id: PendingID) throws {
            guard let action = model.actions[id], case .revert(let old, let commit, let recreated) = action.task else {
                return
            }
            let result = try write(
                WriteRequest(.undo(UndoRequest(commit), of: nil, onConflict: .refuse)))
            guard case .success(let undo) = result, let undo else { return }
            let before = model.plainSuites
            model.revert(before: old, commit: commit, recreated: recreated, at: undo.revision)
            model.recordCreations(from: before)
            model.actions[id] = nil
            count("undone")
        }

        /// Compares the pending actions and the settings with the model, and the pending actions and the size with the
        /// replayed state.
        func check() throws {
            let state = staged.state
            let deadlines = Dictionary(
                uniqueKeysWithValues: state.pending.all.map { ($0.action.id, $0.action.deadline.milliseconds) })
            try #require(deadlines == model.actions.mapValues(\.deadline), context)
            for name in PlainSuites.suiteNames {
                let (suite, plain) = (state.suite(try SuiteName(name)), model.plainSuites.suites[name])
                try #require((suite == nil) == (plain == nil), "\(name), \(context)")
                try #require(suite?.schemaRevision == plain?.schemaRevision, "\(name), \(context)")
                let count = state.pending.all.count { $0.suites.contains { $0.text == name } }
                try #require(state.pending.count(of: try SuiteName(name)) == count, context)
                for key in PlainSuites.keys {
                    let setting = state.setting(try SuiteName(name), try KeyName(key))
                    try #require(setting.value == plain?.value(key), "\(name) \(key), \(context)")
                    try #require(setting.source == plain?.source(key) ?? .unset, "\(name) \(key), \(context)")
                }
            }
            func describeActions(of state: State) -> [String] {
                state.pending.byDeadline.map { $0.action.jsonText() + "\($0.recreated.map(\.text).sorted())" }
            }
            try #require(describeActions(of: replayed) == describeActions(of: state))
            try #require(replayed.size == state.size, context)
            try #require(state.pending.all.reduce(0) { $0 + $1.size } == state.pending.size, context)
        }
    }

    @Test("Random writes with deadlines, confirmations and clock jumps have the effects that the model expects")
    func random() throws {
        var counts: [String: Int] = [:]
        // By default, the test runs `roundsFactor` times 1,000 rounds. Each round has its own random generator.
        for random in FuzzBudget.generators(roundsFactor: 0.05) {
            var writes = try RandomWrites(random)
            var run = try Run(seed: random.seed)
            for _ in 0..<150 {
                switch writes.random.below(20) {
                case 0..<6: try run.write(try writes.next(), nil)
                case 6..<10: try run.write(try writes.next(), deadlines(&writes.random))
                case 10..<12: run.clock += Int64(writes.random.below(20_000))
                // The administrator sets the wall clock forward or back.
                case 12: run.clock += Int64(writes.random.below(400_000)) - 200_000
                case 13..<16:
                    let known = run.model.actions.keys.sorted()
                    let randomID = PendingID(try #require(Revision(Int64(writes.random.below(40)))))
                    let id = known.isEmpty || writes.random.chance(oneIn: 5) ? randomID : writes.random.pick(known)
                    let delay = Int64(1 + writes.random.below(90_000))
                    try run.request(
                        id, writes.random.pick([.confirm, .revert, .cancel, .extend(.after(milliseconds: delay))]))
                case 16:
                    let known = run.model.actions.keys.sorted()
                    if !known.isEmpty { try run.undo(writes.random.pick(known)) }
                default: break
                }
                try run.check()
                if writes.random.chance(oneIn: 2) { try run.carryOutDueActions() }
            }
            for (event, count) in run.counts { counts[event, default: 0] += count }
        }
        // The comparison tests an event only if the event occurs.
        for event in [
            "scheduled", "with a deadline", "ended by a drop", "reverted", "refused", "carried out until a time",
            "carried out",
            "requests", "undone",
        ] { #expect(counts[event, default: 0] > 0, "no \(event)") }
    }

    private func deadlines(_ random: inout SeededGenerator) -> WriteRequest.Deadlines {
        func time() -> PendingTime { .after(milliseconds: Int64(1 + random.below(60_000))) }
        switch random.below(4) {
        case 0: return WriteRequest.Deadlines(confirm: Int64(1000 + random.below(60_000)), until: nil, effective: nil)
        case 1: return WriteRequest.Deadlines(confirm: nil, until: time(), effective: nil)
        case 2: return WriteRequest.Deadlines(confirm: nil, until: nil, effective: time())
        default: return WriteRequest.Deadlines(confirm: nil, until: time(), effective: time())
        }
    }
}
