import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import Synchronization
import TestSupport
import Testing

@testable import SettingsWeb

/// Tests of `ClientTable` and `ClientRegistry`. A client is a program that reports under a name which revision of a
/// suite it has applied, or could not apply. The first test compares the table with a plain list of clients.
@Suite(.ownThread)
struct ClientTableTests {
    private struct ModelClient {
        let suite: String
        let name: String
        let caller: String
        /// The revision that the client has applied.
        var applied: Int64?
        /// The revision that the client could not apply.
        var failed: Int64?
        var watches = 0
        var lastSeen: UInt64
        /// The number of the step in which the client was seen last.
        var step: Int
    }

    private struct Watch {
        let suite: String
        let name: String
        let presence: ClientPresence
        /// The step in which the client of the watch was added.
        let added: Int
    }

    /// The time in nanoseconds after which an idle client is gone. The table then still lists the client for
    /// `ClientTable.listingTime`.
    private static let forgetTime: UInt64 = 90
    private static let limits = ClientTable.Limits(clientsPerSuite: 4, clients: 7)
    private static let suites = ["app", "net", "zz"]
    /// The revision of the state.
    private static let published: Int64 = 10

    /// Returns a state in which the three suites were created by the commits 8, 9 and 10.
    private static func state() throws -> State {
        var state = State(epoch: try #require(Epoch("e0")), limits: History.Limits())
        for (index, suite) in suites.enumerated() {
            let revision = try #require(Revision(published - 2 + Int64(index)))
            var commit = Commit(revision: revision, time: Timestamp(milliseconds: 1))
            commit.suiteChanges = [SuiteChange(suite: try SuiteName(suite), kind: .created)]
            try state.apply(commit)
        }
        return state
    }

    /// A report without a watch (`filter` is nil), from a caller that may read everything (`restrictedGrants` is nil).
    private static func receivedReport(
        _ name: String, _ caller: String, _ report: ClientReport
    ) throws -> ReceivedReport {
        ReceivedReport(
            name: try #require(ClientName(name)), report: report, caller: caller, peer: .unknown, restrictedGrants: nil,
            filter: nil)
    }

    private static func cursor(_ number: Int64, epoch: String = "e0") throws -> Cursor {
        Cursor(epoch: try #require(Epoch(epoch)), revision: try #require(Revision(number)))
    }

    @Test("After any reports, watches and pauses, the table has the clients of the model", arguments: 0..<40)
    func randomSteps(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let state = try Self.state()
        var table = ClientTable(forgetTime: Self.forgetTime, limits: Self.limits)
        var (clients, watches): ([ModelClient], [Watch]) = ([], [])
        var (now, dropped): (UInt64, Int) = (1_000, 0)
        // The step in which each client was added, by suite and name.
        var added: [String: Int] = [:]

        func isIdle(_ client: ModelClient) -> Bool { client.watches == 0 }
        func isPresent(_ client: ModelClient) -> Bool { !isIdle(client) || client.lastSeen + Self.forgetTime > now }
        func drop(from candidates: [ModelClient]) {
            let idle = candidates.filter(isIdle)
            guard let oldest = (idle.isEmpty ? candidates : idle).min(by: { $0.step < $1.step }) else { return }
            clients.removeAll { $0.suite == oldest.suite && $0.name == oldest.name }
            dropped += 1
        }

        for step in 0..<400 {
            now += random.chance(oneIn: 40) ? ClientTable.listingTime : UInt64(1 + random.below(40))
            clients.removeAll { isIdle($0) && $0.lastSeen + Self.forgetTime + ClientTable.listingTime <= now }
            for suite in Self.suites { table.removeExpired(of: try SuiteName(suite), at: now) }
            let time = ClientTable.Time(monotonic: now, wall: Timestamp(milliseconds: Int64(now / 1_000_000)))
            if !watches.isEmpty, random.chance(oneIn: 3) {
                let watch = watches.remove(at: random.below(watches.count))
                watch.presence.endWatch(at: now)
                let index = clients.firstIndex { $0.suite == watch.suite && $0.name == watch.name }
                if let index, added["\(watch.suite) \(watch.name)"] == watch.added {
                    clients[index].watches -= 1
                    (clients[index].lastSeen, clients[index].step) = (now, step)
                }
            } else {
                let (suite, name) = (random.pick(Self.suites), random.pick(["a", "b", "c", "d", "e"]))
                let caller = random.chance(oneIn: 6) ? "token:y" : "token:x"
                // The newest revision is 10. A reported revision is from 0 to 12.
                let applied: Int64? = random.chance(oneIn: 3) ? nil : Int64(random.below(13))
                let isOtherEpoch = random.chance(oneIn: 8)
                let failed: Int64? = random.chance(oneIn: 3) ? Int64(random.below(13)) : nil
                let report = ClientReport(
                    applied: try applied.map { try Self.cursor($0, epoch: isOtherEpoch ? "other" : "e0") },
                    failed: try failed.map { try Self.cursor($0) })
                let startsWatch = random.chance(oneIn: 2)
                var index = clients.firstIndex { $0.suite == suite && $0.name == name }
                // While a client is present, no other caller may report under its name.
                let isRefused = index.map { isPresent(clients[$0]) && clients[$0].caller != caller } ?? false
                let (received, suiteName) = (try Self.receivedReport(name, caller, report), try SuiteName(suite))
                do throws(ClientNameConflict) {
                    let presences = try table.record(
                        received, of: [suiteName], startsWatch: startsWatch, on: state, at: time)
                    #expect(!isRefused && presences.count == 1)
                    if let known = index, clients[known].caller != caller {
                        clients.remove(at: known)
                        index = nil
                    }
                    if index == nil {
                        let siblings = clients.filter { $0.suite == suite }
                        if siblings.count >= Self.limits.clientsPerSuite { drop(from: siblings) }
                        if clients.count >= Self.limits.clients { drop(from: clients) }
                        clients.append(
                            ModelClient(suite: suite, name: name, caller: caller, lastSeen: now, step: step))
                        added["\(suite) \(name)"] = step
                        index = clients.count - 1
                    }
                    if let index {
                        if let failed { clients[index].failed = failed }
                        // The failed revision may be later than `published`, so compare the revision as it was
                        // reported.
                        if let applied, !isOtherEpoch, applied >= clients[index].failed ?? .max {
                            clients[index].failed = nil
                        }
                        // A cursor of another epoch counts as no revision. A revision after `published` counts as
                        // `published`.
                        if let applied { clients[index].applied = isOtherEpoch ? nil : min(applied, Self.published) }
                        // An earlier report may have said that the client has applied the failed revision or a later
                        // revision. The failure then counts as ended.
                        if let applied = clients[index].applied, let failed = clients[index].failed,
                            applied >= failed
                        {
                            clients[index].failed = nil
                        }
                        (clients[index].lastSeen, clients[index].step) = (now, step)
                        if startsWatch {
                            clients[index].watches += 1
                            watches.append(
                                Watch(
                                    suite: suite, name: name, presence: presences[0],
                                    added: added["\(suite) \(name)"] ?? -1))
                        }
                    }
                } catch {
                    #expect(isRefused, "step \(step)")
                    // The name is free at `end` at the earliest.
                    #expect(error.end >= time.wall)
                }
            }
            #expect(table.count == clients.count && table.droppedCount == dropped, "seed \(seed), step \(step)")
            for suite in Self.suites {
                let found = table.clients(of: try SuiteName(suite), at: now).map { listed in
                    let client = listed.client
                    let presence = client.presence.isWaiting ? "waiting" : listed.isPresent ? "idle" : "gone"
                    return "\(client.name) \(client.caller ?? "") \(presence) \(client.applied?.number ?? -1) "
                        + "\(client.failure?.revision.number ?? -1)"
                }
                let expected = clients.filter { $0.suite == suite }.map { client in
                    let presence = !isIdle(client) ? "waiting" : isPresent(client) ? "idle" : "gone"
                    return "\(client.name) \(client.caller) \(presence) \(client.applied ?? -1) \(client.failed ?? -1)"
                }
                try #require(found.sorted() == expected.sorted(), "seed \(seed), step \(step), suite \(suite)")
            }
        }
    }

    @Test("The table has at most 10,000 clients of a suite and 100,000 in all, and drops the client seen longest ago")
    func limits() throws {
        let state = try Self.state()
        var table = ClientTable(forgetTime: ClientRegistry.defaultForgetTime)
        func record(_ name: String, _ suite: String, at now: UInt64) throws {
            let time = ClientTable.Time(monotonic: now, wall: Timestamp(milliseconds: 1))
            _ = try table.record(
                Self.receivedReport(name, "token:x", ClientReport()), of: [SuiteName(suite)], startsWatch: false,
                on: state, at: time)
        }
        for number in 0..<10_002 { try record("n\(number)", "app", at: UInt64(number)) }
        // At the time 0, no client is gone.
        let names = Set(table.clients(of: try SuiteName("app"), at: 0).map(\.client.name.text))
        #expect(names.count == 10_000 && table.droppedCount == 2)
        #expect(!names.contains("n0") && !names.contains("n1") && names.contains("n2"))
        // With the 10,000 clients of app, the table would have 100,001 clients.
        for number in 0..<90_001 { try record("n\(number)", "s\(number % 10)", at: UInt64(20_000 + number)) }
        #expect(table.count == 100_000 && table.droppedCount == 3)
        #expect(table.count(of: try SuiteName("app")) == 9_999)
    }

    /// Returns the state with one more commit, which changes a setting of the suite `app`.
    private static func nextState(after state: State) throws -> State {
        var state = state
        let (suite, revision, time) = (
            try SuiteName("app"), try #require(Revision(state.revision.number + 1)), Timestamp(milliseconds: 2)
        )
        var commit = Commit(revision: revision, time: time)
        commit.changes = [
            Change(
                suite: suite, key: try KeyName("a"), old: nil, new: .integer(1), oldSource: .unset, source: .stored,
                revision: revision, modified: time)
        ]
        try state.apply(commit)
        return state
    }

    /// The daemons of a cluster send each other the records of their clients.
    @Test("The records for other daemons are reused until a client reports, a commit follows, or 3 seconds pass")
    func records() throws {
        let (time, suite, state) = (ManualClock(), try SuiteName("app"), try Self.state())
        let registry = ClientRegistry(
            forgetTime: ClientRegistry.defaultForgetTime, clock: time.clock, wallClock: { Timestamp(milliseconds: 1) })
        /// Returns true if the registry makes new records.
        func makesRecords(on state: State) -> Bool {
            // The registry stores the time at which it made the records.
            time.advance(nanoseconds: 1)
            let now = time.clock.now()
            _ = registry.records(on: state)
            return registry.cachedRecords.withLock { $0?.time } == now
        }
        func report(_ name: String) throws {
            _ = try registry.record(Self.receivedReport(name, "token:x", ClientReport()), of: suite, on: state)
        }
        try report("a")
        #expect(makesRecords(on: state))
        #expect(!makesRecords(on: state))
        // The clients of another daemon are not in the records of this daemon.
        registry.receive([(daemon: "b", records: registry.records(on: state), age: .zero)], on: state)
        #expect(!makesRecords(on: state))
        // The registry keeps the records of one state only, so the first state needs new records below.
        #expect(makesRecords(on: try Self.nextState(after: state)))
        #expect(makesRecords(on: state))
        try report("b")
        #expect(makesRecords(on: state))
        time.advance(seconds: 3)
        #expect(makesRecords(on: state))
    }

    @Test("A daemon accepts records whose age exceeds its monotonic time, which does not count suspended time")
    func oldRecords() throws {
        let (time, suite, state) = (ManualClock(), try SuiteName("app"), try Self.state())
        let (registry, other) = (makeRegistry(), makeRegistry())
        func makeRegistry() -> ClientRegistry {
            ClientRegistry(
                forgetTime: ClientRegistry.defaultForgetTime, clock: time.clock,
                wallClock: { Timestamp(milliseconds: 1) })
        }
        func report(as caller: String, to registry: ClientRegistry) throws {
            let received = try Self.receivedReport("a", caller, ClientReport())
            _ = try registry.record(received, of: suite, on: state)
        }
        try report(as: "token:x", to: registry)
        let age = Duration.nanoseconds(Int64(time.clock.now())) + .seconds(60)
        other.receive([(daemon: "b", records: registry.records(on: state), age: age)], on: state)
        // The refusal shows that `other` has accepted the records: `other` knows that `token:x` uses the name `a`.
        #expect(throws: Problem.self) { try report(as: "token:y", to: other) }
    }

    @Test("The end of a watch counts as a contact, even if another watch of the client waits")
    func endOfWatch() {
        let presence = ClientPresence(seen: 1)
        for _ in 0..<2 { presence.recordContact(startsWatch: true, at: 1) }
        for time: UInt64 in [5, 9] {
            presence.endWatch(at: time)
            #expect(presence.lastSeen == time)
        }
        #expect(!presence.isWaiting)
    }

    /// A rollout time is the time from a commit until 50, 95 or 100 percent of the clients have applied the commit.
    @Test("The rollout times count each client once, and only clients that were present when the measurement began")
    func rolloutTimes() throws {
        let (suite, state) = (try SuiteName("app"), try Self.state())
        let next = try Self.nextState(after: state)
        var table = ClientTable(forgetTime: Self.forgetTime)
        func report(_ name: String, _ revision: Int64, on state: State, at now: UInt64) throws {
            let report = ClientReport(applied: try Self.cursor(revision))
            _ = try table.record(
                Self.receivedReport(name, "token:x", report), of: [suite], startsWatch: false, on: state,
                at: ClientTable.Time(monotonic: now, wall: Timestamp(milliseconds: 2)))
        }
        for name in ["a", "b", "c", "d"] { try report(name, 8, on: state, at: 1_000) }
        for name in ["b", "c", "d"] { try report(name, 8, on: state, at: 1_100) }
        // The suite has the revision 8 in `state` and 11 in `next`. At 1,110, when the measurement begins, the client a
        // is gone, because `forgetTime` has passed since its report. Some clients report the revision 8 after 11.
        // The elements of `counts` become 1 when 50, 95 and 100 percent of the clients b, c and d have applied the
        // revision 11.
        let steps: [(name: String, revision: Int64, counts: [Int])] = [
            ("b", 8, [0, 0, 0]), ("a", 11, [0, 0, 0]), ("b", 11, [0, 0, 0]), ("b", 8, [0, 0, 0]), ("b", 11, [0, 0, 0]),
            ("c", 11, [1, 0, 0]), ("a", 8, [1, 0, 0]), ("a", 11, [1, 0, 0]), ("d", 11, [1, 1, 1]),
            ("d", 8, [1, 1, 1]), ("d", 11, [1, 1, 1]),
        ]
        for (index, step) in steps.enumerated() {
            try report(step.name, step.revision, on: next, at: 1_110)
            #expect(table.rolloutTimes.histograms.map(\.count) == step.counts, "step \(index)")
        }
    }
}
