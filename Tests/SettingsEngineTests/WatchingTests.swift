import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

/// Tests of the search for the commits that concern a watcher, and of the answers made from these commits.
@Suite(.ownThread)
struct WatchingTests {
    @Test("After random writes, a watcher that polls from its cursor has the values of the state at its new cursor")
    func random() throws {
        // By default, the test runs `roundsFactor` times 1,000 rounds. Each round has its own random generator.
        for random in FuzzBudget.generators(roundsFactor: 0.05) {
            var watched = try WatchedState(random)
            for _ in 0..<400 {
                try watched.applyRandomWrite()
                if watched.random.chance(oneIn: 2) { try watched.pollRandomWatcher() }
            }
            for index in watched.watchers.indices { try watched.poll(index) }
        }
    }

    @Test("An event stream returns each commit once and in order, for any limits of the searches for commits")
    func streams() throws {
        for random in FuzzBudget.generators(roundsFactor: 0.02) {
            var watched = try WatchedState(random)
            var views = watched.watchers.map { WatcherView(of: watched.state, $0.subject) }
            for _ in 0..<300 {
                try watched.applyRandomWrite()
                guard watched.random.chance(oneIn: 3) else { continue }
                for (index, watcher) in watched.watchers.enumerated() {
                    try streamCommits(to: &views[index], watcher.subject, &watched)
                }
            }
        }
    }

    /// Streams the commits after the cursor of a view, until the view has the values of the present state. If the
    /// history lacks commits, the view gets the whole state.
    private func streamCommits(
        to view: inout WatcherView, _ subject: WatchSubject, _ watched: inout WatchedState
    ) throws {
        let state = watched.state
        while let position = view.cursor?.revision, position < state.revision {
            guard state.watchReader.hasHistory(for: subject, after: position) else {
                view = WatcherView(of: state, subject)
                return
            }
            // The search ends early, because its limits of cost and size are small and random.
            let (commits, reached) = state.watchReader.nextCommits(
                for: subject, after: position, within: (1 + watched.random.below(5)) * Cost.commitComparison,
                bytes: watched.random.below(2000))
            for retained in commits { try view.apply(state.watchReader.streamed(subject, retained.commit)) }
            try #require(reached > position, "seed \(watched.random.seed)")
            view.cursor = Cursor(epoch: state.epoch, revision: reached)
        }
        #expect(view.hasValues(of: WatcherView(of: state, subject)), "seed \(watched.random.seed)")
    }
}

/// A state that random writes change, and its watchers.
private struct WatchedState {
    /// The suites and keys that a watcher watches, and the values that it has received.
    struct Watcher {
        let subject: WatchSubject
        var view = WatcherView()
    }

    var random: SeededGenerator
    var state: State
    var watchers: [Watcher] = []
    /// All states so far, by revision.
    private var past: [Revision: State] = [:]
    private var writes: RandomWrites

    init(_ random: SeededGenerator) throws {
        self.random = random
        var limits = History.Limits()
        limits.commits = 20 + self.random.below(200)
        state = State(epoch: try #require(Epoch("e1")), limits: limits)
        writes = try RandomWrites(SeededGenerator(seed: random.seed &+ 1))
        past[state.revision] = state
        let names = try PlainSuites.suiteNames.map { try SuiteName($0) }
        for _ in 0..<6 {
            let keys = try PlainSuites.keys.filter { _ in self.random.chance(oneIn: 4) }.map { try KeyName($0) }
            let prefixes = ["c", "c.", ""].filter { _ in self.random.chance(oneIn: 5) }
            let filter = KeyFilter(keys: keys, prefixes: prefixes)
            let suitePrefixes =
                self.random.chance(oneIn: 2) ? ["", "a", "ne"].filter { _ in self.random.chance(oneIn: 2) } : []
            watchers.append(
                Watcher(
                    subject: self.random.chance(oneIn: 2)
                        ? WatchSubject(self.random.pick(names), filter)
                        : WatchSubject(
                            names.filter { _ in self.random.chance(oneIn: 2) } + [names[0]], prefixes: suitePrefixes,
                            filter)))
        }
    }

    /// Decides a random write, and applies its commit, if any.
    mutating func applyRandomWrite() throws {
        let next = try #require(state.revision.advanced(by: Int64(1 + random.below(3))))
        let command = try writes.next()
        let decision = try? state.decide(WriteRequest(command), revision: next, time: Timestamp(milliseconds: 1))
        guard let decision, let commit = decision.commit else { return }
        try state.apply(commit, schema: decision.schema)
        past[state.revision] = state
    }

    mutating func pollRandomWatcher() throws {
        try poll(random.below(watchers.count))
    }

    /// Gives a watcher the changes after its cursor, or the whole state. Compares the values of the watcher with the
    /// state at its new cursor.
    mutating func poll(_ index: Int) throws {
        let watcher = watchers[index]
        let limit = random.chance(oneIn: 2) ? 1 + random.below(4) : nil
        let since = watcher.view.cursor.map {
            random.chance(oneIn: 3) ? ResumePoint.revision($0.revision) : .cursor($0)
        }
        switch state.watchReader.find(watcher.subject, since: since) {
        case .missingSuite:
            #expect(watcher.subject.isSingleSuite && state.suite(watcher.subject.suites[0]) == nil)
        case .tooCostly:
            Issue.record("the search was refused as too costly although it has no cost limit")
        case .state(let isReset):
            let observed = try #require(state.watchReader.observed(watcher.subject, isReset: isReset))
            #expect(isReset == (since != nil))
            watchers[index].view.apply(observed)
        case .nothing:
            watchers[index].view.cursor = state.cursor
        case .commits(let commits):
            let observed = state.watchReader.observed(
                watcher.subject, commits, from: since?.revision ?? .zero, limit: limit,
                mergesByKey: random.chance(oneIn: 3))
            if let limit, observed.changes.count > limit {
                #expect(Set(observed.changes.map(\.revision)).count == 1, "only a single commit may exceed the limit")
            }
            try watchers[index].view.apply(observed)
            #expect(observed.hasMore == (observed.cursor.revision < (commits.last?.commit.revision ?? .zero)))
            let expected = WatcherView(of: try #require(past[observed.cursor.revision]), watcher.subject)
            for schema in observed.scope.schemas {
                #expect(schema.revision == expected.schemas[schema.suite] ?? .zero, "seed \(random.seed)")
            }
        }
        guard let cursor = watchers[index].view.cursor else { return }
        let expected = WatcherView(of: try #require(past[cursor.revision]), watcher.subject)
        #expect(watchers[index].view.hasValues(of: expected), "seed \(random.seed)")
    }
}

extension ObservedChanges.Scope {
    fileprivate var schemas: [SuiteRevision] {
        switch self {
        case .one(let schema, _): [schema]
        case .several(let schemas, _, _): schemas
        }
    }
}
