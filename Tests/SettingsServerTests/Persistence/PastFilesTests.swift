import Glibc
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsStorage

/// Compares a log with past files and a short history in memory with a history that keeps every commit.
/// `FuzzBudget.includes` leaves out some seeds if `FUZZ_ITERATIONS` is small.
@Suite(.ownThread)
struct PastFilesTests {
    private static let names = ["app", "editor", "net"]

    /// A log with past files, and a reference state whose history in memory, which `recentPast` reads, has every
    /// commit.
    private struct Run {
        let harness: LogHarness
        var reference: State
        var random: SeededGenerator

        init(seed: UInt64, _ change: (inout LogHarness.Setup) -> Void = { _ in }) throws {
            var setup = LogHarness.Setup(journalBytes: 4_000)
            setup.history = PastFilesTests.limits
            change(&setup)
            harness = try LogHarness(SimulatedDisk(), setup, seed: seed)
            try harness.open()
            random = SeededGenerator(seed: seed)
            reference = State(epoch: try #require(harness.newestState?.epoch), limits: .unbounded)
        }

        mutating func writeBatch() throws {
            try harness.writeBatch()
            let newest = try #require(harness.newestState)
            for retained in newest.history.commits(after: reference.revision) { try reference.apply(retained.commit) }
            try #require(newest.revision == reference.revision)
        }

        var view: PastView {
            get throws { PastView(try #require(harness.log?.pastFiles), try #require(harness.newestState)) }
        }

        /// Everything that a client can read of a suite, except the origins (caller and note) of values, which past
        /// files do not always contain. Omits keys without a value: such a key may or may not have a record if the
        /// schema lists the key.
        static func descriptionLines(_ suite: Suite?) -> [String] {
            guard let suite else { return ["none"] }
            var lines = ["revision \(suite.revision)", suite.schema?.schema.document.text() ?? "no schema"]
            suite.forEachRecord { record in
                guard record.valueSource != .unset else { return true }
                lines.append(
                    "\(record.key) \(record.stored?.text() ?? "-") \(record.valueSource) \(record.revision) "
                        + "\(record.modified) \(record.isSecret)")
                return true
            }
            return lines
        }

        /// Expects that each suite at each revision, and the revision at each time, is the same as in the reference.
        func expectEqualToReference(_ context: Comment) throws {
            let view = try view
            let commits = reference.history.all
            for revision in [.zero] + commits.map(\.revision) {
                for name in try names.map({ try SuiteName($0) }) {
                    let (found, known) = (
                        try view.suite(name, at: revision), try reference.recentPast.suite(name, at: revision)
                    )
                    try #require(
                        Self.descriptionLines(found) == Self.descriptionLines(known),
                        "\(name) at \(revision), \(context)")
                }
            }
            for time in [Timestamp(milliseconds: 0)] + commits.map(\.commit.time) {
                for instant in [time, Timestamp(milliseconds: time.milliseconds + 1)] {
                    let suite = try SuiteName(names[0])
                    let known = try reference.recentPast.revision(at: .instant(instant), of: suite)
                    try #require(try view.revision(at: .instant(instant), of: suite) == known, "\(instant), \(context)")
                }
            }
        }
    }

    /// A short history in memory, and past files: a log keeps past files if there is a maximum age. No commit reaches
    /// this age in milliseconds.
    static var limits: History.Limits {
        var limits = History.Limits()
        (limits.commits, limits.suiteCommits) = (12, 2)
        limits.age = 1 << 50
        return limits
    }

    @Test(
        "Suites read at each past revision and instant equal the reference, also after stops and crashes",
        arguments: (1...6).filter { FuzzBudget.includes(case: $0 - 1) })
    func revisions(seed: Int) throws {
        var run = try Run(seed: UInt64(seed))
        for round in 0..<4 {
            for _ in 0..<25 { try run.writeBatch() }
            try run.expectEqualToReference("seed \(seed), round \(round)")
            if round % 2 == 0 { try run.harness.close() }
            run.harness.crash(.syncedOnly)
            try run.harness.open()
            try run.expectEqualToReference("seed \(seed), after round \(round)")
        }
        let files = try #require(run.harness.log?.pastFiles).list
        #expect(files.count > 20 && files.first?.from == .zero)
        #expect(zip(files, files.dropFirst()).allSatisfy { $0.to == $1.from })
    }

    @Test(
        "With past files, pages of the history, differences, undos and restores equal those of the reference",
        arguments: (1...4).filter { FuzzBudget.includes(case: $0 - 1) })
    func readsAndWrites(seed: Int) throws {
        var run = try Run(seed: UInt64(seed))
        for _ in 0..<60 { try run.writeBatch() }
        let (view, reference) = (try run.view, run.reference)
        for name in try Self.names.map({ try SuiteName($0) }) {
            // All commits, and the commits of one of the random callers.
            for by in [nil, "user:alice"] {
                var (commits, before): ([String], Revision?) = ([], nil)
                repeat {
                    let page = try view.history(Self.historyQuery(name, by: by, before: before, limit: 7))
                    #expect(page.oldest == .zero)
                    commits += page.commits.map { $0.jsonText() }
                    before = page.next
                } while before != nil
                let known = try reference.recentPast.history(Self.historyQuery(name, by: by, before: nil, limit: 1000))
                try #require(commits == known.commits.map { $0.jsonText() }, "\(name), seed \(seed)")
            }
        }
        let revisions = [.zero] + reference.history.all.map(\.revision)
        for _ in 0..<200 {
            let (from, to) = (run.random.pick(revisions), run.random.pick(revisions))
            let suite = try SuiteName(run.random.pick(Self.names))
            let found = try view.difference(of: suite, from: .revision(from), to: .revision(to), for: nil)
            let known = try reference.recentPast.difference(of: suite, from: .revision(from), to: .revision(to))
            try #require(
                found.withoutOrigins.jsonText() == known.withoutOrigins.jsonText(),
                "\(suite), \(from) to \(to), seed \(seed)")
        }
        let next = try #require(reference.revision.advanced(by: 1))
        var (accepted, refused) = (0, 0)
        for revision in revisions.dropFirst() {
            let suite = try SuiteName(run.random.pick(Self.names))
            let isForced = run.random.chance(oneIn: 2)
            for command in [
                WriteCommand.undo(UndoRequest(revision, isForced: isForced), of: nil, onConflict: .keep),
                .undo(UndoRequest(revision, isForced: isForced), of: suite, onConflict: .keep),
                .restore(suite, RestoreRequest(to: .revision(revision)), skipsConflicts: false),
            ] {
                let known = Self.outcome { () throws(Problem) in
                    try reference.decide(WriteRequest(command), revision: next, time: reference.time)
                }
                let found = Self.outcome { () throws(Problem) in
                    var request = WriteRequest(command)
                    try view.readPast(for: &request)
                    return try view.state.decide(request, revision: next, time: reference.time)
                }
                try #require(found == known, "\(command), seed \(seed)")
                if known.hasPrefix("refused") { refused += 1 } else { accepted += 1 }
            }
        }
        #expect(accepted > 50 && refused > 20)
    }

    @Test("A search that stops at any past file continues from this file")
    func longSearch() throws {
        // A page searches about 16,384 commits, and each file counts as 64 commits. With more than 256 files, a search
        // therefore needs a second page.
        // The journal never reaches its limit, so the log writes no snapshot.
        var run = try Run(seed: 11) { $0.journalBytes = 1 << 30 }
        var pageCounts: Set<Int> = []
        var files = 0
        while files < 262 {
            try run.writeBatch()
            let count = try #require(run.harness.log?.pastFiles).list.count
            guard count > files else { continue }
            files = count
            guard files > 240 else { continue }
            let first = try #require(run.reference.history.all.first?.firstSuite)
            let view = try run.view
            var (found, before, pages): ([Revision], Revision?, Int) = ([], nil, 0)
            repeat {
                let page = try view.history(Self.historyQuery(first, by: nil, before: before, limit: 1000))
                found += page.commits.map(\.revision)
                before = page.next
                pages += 1
            } while before != nil
            let known = try run.reference.recentPast.history(
                Self.historyQuery(first, by: nil, before: nil, limit: 1000))
            try #require(found == known.commits.map(\.revision), "\(first), \(files) files")
            pageCounts.insert(pages)
        }
        #expect(pageCounts == [1, 2])
    }

    private static func historyQuery(_ suite: SuiteName, by: String?, before: Revision?, limit: Int) -> HistoryQuery {
        HistoryQuery(
            suite: suite, filter: KeyFilter(keys: [], prefixes: []), by: by, before: before, limit: limit,
            restrictedGrants: nil)
    }

    /// The commit of a decision as JSON, or the code of its refusal.
    private static func outcome(_ body: () throws(Problem) -> WriteDecision) -> String {
        do throws(Problem) {
            let commit = try body().commit
            return commit?.jsonText() ?? "nothing"
        } catch {
            return "refused: \(error.code.map { "\($0)" } ?? "")"
        }
    }

    @Test("A start with a lower limit of commits in memory loses no past state")
    func lowerCommitLimit() throws {
        for closes in [true, false] {
            var run = try Run(seed: 7) { $0.history.commits = 100 }
            for _ in 0..<30 { try run.writeBatch() }
            if closes { try run.harness.close() }
            run.harness.crash(.syncedOnly)
            run.harness.setup.history.commits = 8
            try run.harness.open()
            #expect(try #require(run.harness.newestState).history.count <= 8)
            run.harness.performMaintenance()
            try run.expectEqualToReference("closes: \(closes)")
        }
    }

    @Test("Past files that exceed the maximum age are removed, and reading their states is refused as history gone")
    func age() throws {
        // The times of the random commits are on average half a second apart, and a batch has up to three commits.
        var run = try Run(seed: 8) { $0.history.age = 15_000 }
        for _ in 0..<80 { try run.writeBatch() }
        let files = try #require(run.harness.log?.pastFiles).list
        let oldest = try #require(files.first)
        #expect(oldest.from > .zero && files.count > 1)
        // The log computes ages from an estimate of the present time, which may be up to twice the maximum age of 15
        // seconds behind the last commit. So it removes a file after at most 45 seconds and the time of a few commits.
        let earliest = run.reference.time.milliseconds - 60_000
        #expect(oldest.latestTime.milliseconds >= earliest)
        #expect(run.harness.disk.names.filter { $0.hasPrefix("past-") }.count == files.count)
        let view = try run.view
        for name in try Self.names.map({ try SuiteName($0) }) {
            for retained in run.reference.history.all {
                let oldestReadable = min(oldest.from, view.state.oldestAvailable(of: name))
                do throws(Problem) {
                    let found = try view.suite(name, at: retained.revision)
                    #expect(retained.revision >= oldestReadable)
                    let known = try run.reference.recentPast.suite(name, at: retained.revision)
                    #expect(Run.descriptionLines(found) == Run.descriptionLines(known))
                } catch {
                    #expect(
                        error.code == .historyGone && error.oldest == oldestReadable
                            && retained.revision < oldestReadable)
                }
            }
            #expect(try view.history(Self.historyQuery(name, by: nil, before: nil, limit: 1)).oldest <= oldest.from)
        }
    }

    @Test("A clock that is temporarily years ahead neither removes past files nor keeps them longer")
    func wrongClock() throws {
        // The maximum age is 15 seconds.
        var run = try Run(seed: 11) { $0.history.age = 15_000 }
        for _ in 0..<20 { try run.writeBatch() }
        let past = try #require(run.harness.log?.pastFiles)
        let time = run.reference.time
        let years: Int64 = 10 * 365 * 86_400_000
        run.harness.shiftClock(by: years)
        for _ in 0..<5 { try run.writeBatch() }
        let lastWithWrongTime = run.reference.revision
        run.harness.shiftClock(by: -years)
        // The wrong time has removed no file: the past files still contain a commit of at least the maximum age.
        let oldest = try #require(past.list.first?.commitLines.first).earliest
        #expect(time.milliseconds - oldest.milliseconds >= 15_000)
        for _ in 0..<100 { try run.writeBatch() }
        // The files of the commits with the wrong time are removed.
        #expect(try #require(past.list.first).from >= lastWithWrongTime)
        #expect(run.harness.disk.names.filter { $0.hasPrefix("past-") }.count == past.list.count)
    }

    @Test(
        "Commits that wait for a past file count against the memory budget, and a stop without time for the file loses no commit"
    )
    func memoryCharge() throws {
        // The journal does not reach this length, at which a snapshot would be due.
        var run = try Run(seed: 12) { $0.journalBytes = 1 << 20 }
        for _ in 0..<10 { try run.writeBatch() }
        #expect(run.harness.pastCharge.bytes.withLock(\.self) == 0)
        // A past file gets its name by a rename. After a failure, the log pauses before it writes the file again. The
        // test does not wait for this retry.
        run.harness.disk.fail(.rename, with: ENOSPC)
        for _ in 0..<8 { try run.writeBatch() }
        #expect(run.harness.pastCharge.bytes.withLock(\.self) > 0)
        run.harness.disk.heal()
        let files = try #require(run.harness.log?.pastFiles).list.count
        try run.harness.close(within: 0)
        run.harness.crash(.syncedOnly)
        #expect(run.harness.disk.names.filter { $0.hasPrefix("past-") }.count == files)
        try run.harness.open()
        run.harness.performMaintenance()
        try run.expectEqualToReference("after the stop")
        #expect(run.harness.pastCharge.bytes.withLock(\.self) == 0)
    }

    @Test("If past files cannot be written for a while, no commit is lost")
    func unwritablePastFiles() throws {
        // The journal does not reach this length, at which a snapshot would be due.
        var run = try Run(seed: 13) { $0.journalBytes = 1 << 20 }
        for _ in 0..<10 { try run.writeBatch() }
        // A past file gets its name by a rename.
        run.harness.disk.fail(.rename, with: ENOSPC)
        for _ in 0..<100 { try run.writeBatch() }
        run.harness.disk.heal()
        // Each maintenance writes the file of one queued state.
        for _ in 0..<40 { run.harness.performMaintenance(after: .seconds(100)) }
        try run.expectEqualToReference("after the disk had been full")
        #expect(run.harness.pastCharge.bytes.withLock(\.self) == 0)
    }

    @Test("A start with a damaged past file succeeds and loses only the states before the end of the file")
    func damage() throws {
        for isAtEnd in [false, true] {
            var run = try Run(seed: 9)
            for _ in 0..<40 { try run.writeBatch() }
            run.harness.crash(.syncedOnly)
            let names = run.harness.disk.names.compactMap { DataDirectory.PastFileName($0) }.sorted { $0.to < $1.to }
            let damaged = names[names.count / 2]
            var bytes = try #require(run.harness.disk.content(damaged.name))
            if isAtEnd { bytes.removeLast(20) } else { bytes[40] ^= 1 }
            run.harness.disk.put(damaged.name, bytes)
            try run.harness.open()
            var (gone, answered) = (0, 0)
            // In the first round, a read finds the damage. In the second round, the damage is known.
            for isKnown in [false, true] {
                for revision in run.reference.history.all.map(\.revision) {
                    for suite in try Self.names.map({ try SuiteName($0) }) {
                        let (view, known) = (try run.view, try run.reference.recentPast.suite(suite, at: revision))
                        let isBefore = revision < min(damaged.to, view.state.oldestAvailable(of: suite))
                        do throws(Problem) {
                            let found = try view.suite(suite, at: revision)
                            #expect(Run.descriptionLines(found) == Run.descriptionLines(known))
                            #expect(!isKnown || !isBefore)
                            answered += 1
                        } catch {
                            #expect(error.code == .historyGone && isBefore)
                            #expect(try #require(error.oldest) <= damaged.to)
                            gone += 1
                        }
                    }
                }
            }
            #expect(gone > 60 && answered > 60)
            let check = try DirectoryCheck(DataDirectory("/data", in: run.harness.disk))
            #expect(
                check.verdict == .damaged
                    && check.lines.contains { $0.hasPrefix(damaged.name) && $0.contains("DAMAGED") })
        }
    }

    @Test("Past files beyond the recovered state are set aside")
    func stale() throws {
        var run = try Run(seed: 10)
        for _ in 0..<10 { try run.writeBatch() }
        try run.harness.close()
        let copy = run.harness.disk.names.filter { $0 != "LOCK" }.map { ($0, run.harness.disk.content($0) ?? []) }
        run.harness.crash(.syncedOnly)
        try run.harness.open()
        let recoveredRevision = run.reference.revision
        for _ in 0..<30 { try run.writeBatch() }
        try run.harness.close()
        run.harness.crash(.syncedOnly)
        // Restores all files except the past files.
        for name in run.harness.disk.names where name != "LOCK" && !name.hasPrefix("past-") {
            run.harness.disk.put(name, nil)
        }
        for (name, bytes) in copy where !name.hasPrefix("past-") { run.harness.disk.put(name, bytes) }
        try run.harness.open()
        let used = try #require(run.harness.log?.pastFiles).list
        #expect(used.allSatisfy { $0.to <= recoveredRevision })
        #expect(run.harness.disk.names.contains { $0.hasPrefix("set-aside-past-") })
        #expect(
            !run.harness.disk.names.contains {
                DataDirectory.PastFileName($0).map { $0.to > recoveredRevision } ?? false
            })
    }
}

extension SuiteDifference {
    /// The difference without the origins of changes, which are not always known.
    fileprivate var withoutOrigins: SuiteDifference {
        var copy = self
        for index in copy.changes.indices { copy.changes[index].origin = nil }
        return copy
    }
}
