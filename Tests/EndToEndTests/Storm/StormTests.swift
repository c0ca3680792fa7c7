import Glibc
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// Storms: tests in which the daemon is killed while clients write and watch.
@Suite(.ownThread, .serialized)
struct StormTests {
    /// The duration of a storm in seconds. If it changes, adapt the estimate in `scripts/storm`.
    private static let length = 4.0
    /// The duration of every tenth storm, in which long waits end and quiet streams receive keep-alives.
    private static let (longLength, longStormInterval) = (40.0, 10)
    /// True if three daemons share an etcd, as with `scripts/storm --cluster`.
    private static let isShared = getenv("SETTINGSD_TEST_CLUSTER") != nil

    @Test(
        "Watchers get every commit once and in order, across reconnects, kills and restarts")
    func storm() async throws {
        var tally: [String: Int] = [:]
        // `FUZZ_ITERATIONS` is 1,000 by default, so the default is one storm.
        for (number, random) in FuzzBudget.generators(roundsFactor: 0.001).enumerated() {
            let isLong = number % Self.longStormInterval == Self.longStormInterval - 1
            let outcome = try await Storm(
                seed: random.seed, seconds: isLong ? Self.longLength : Self.length, isShared: Self.isShared
            ).run()
            for fault in outcome.faults.prefix(5) { Issue.record("\(fault)") }
            tally.merge(outcome.tally, uniquingKeysWith: +)
            if !outcome.faults.isEmpty { break }
        }
        print(tally.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
        #expect(tally["events", default: 0] > 0 && tally["answers with changes", default: 0] > 0)
    }
}

/// Tests of the check that a storm uses. `Handmade.record` has seven commits, written by hand. A change in the tables
/// has a key, the old value, the new value and the revision; `a` changes from 1 to 2 at revision 2.
@Suite(.ownThread)
struct TranscriptCheckTests {
    @Test("The check accepts a correct transcript", arguments: TranscriptCase.correctCases)
    func accepts(_ example: TranscriptCase) {
        #expect(example.violations.isEmpty, "\(example.violations)")
    }

    @Test("The check rejects an incorrect transcript and names the fault", arguments: TranscriptCase.incorrectCases)
    func refuses(_ example: TranscriptCase) throws {
        let fault = try #require(example.fault)
        #expect(example.violations.contains { $0.contains(fault) }, "\(example.violations)")
    }

    @Test(
        "The check rejects an answer to a write if the journal has no such commit or a different commit",
        arguments: [
            ([Handmade.change("a", 1, 2, 2)], 2, nil), ([Handmade.change("a", 1, 3, 2)], 2, "does not describe"),
            ([], 2, "does not describe"), ([Handmade.change("a", 1, 2, 2)], 8, "does not contain"),
        ] as [([Change], Int64, String?)])
    func answers(_ changes: [Change], _ revision: Int64, _ fault: String?) {
        let summary = WriteSummary(revision: Handmade.revision(revision), changed: true, changes: changes)
        let answer = StormAnswer(request: "POST", life: 0, at: 0, requestKey: nil, content: .summary(summary))
        let faults = Handmade.record.faults(in: [answer])
        #expect(fault.map { fault in faults.contains { $0.contains(fault) } } ?? faults.isEmpty, "\(faults)")
    }

    @Test(
        "The check rejects a write that took effect twice, unless the history has evicted the first commit",
        arguments: [(history: 100, faultCount: 1), (history: 2, faultCount: 0)])
    func twice(history: Int, faultCount: Int) {
        var record = Handmade.record
        record.history = history
        // The commits 2 and 5.
        for index in [1, 4] { record.journal.commits[index].requestKey = RequestKey("once") }
        #expect(record.faults(in: []).count == faultCount)
    }

    @Test("The check compares reads with the commits and the duration of the wait", arguments: ReadingCase.all)
    func readings(_ example: ReadingCase) {
        let violations = ReadingCheck(example.readings, Handmade.record).violations
        #expect(violations.isEmpty == example.isCorrect, "\(violations)")
    }
}

/// The answer to a read of the key `a`, written by hand, with the expected result of the check. The daemon has the
/// commits of `Handmade`: `a` is 1 at revision 1, 2 at revision 2, and unset at revision 5. Revision 7, the last, drops
/// the suite.
struct ReadingCase: CustomTestStringConvertible {
    let name: String
    let isCorrect: Bool
    /// The tag in If-None-Match.
    var sentTag: Int64?
    var status = 200
    var code: String?
    var tag: Int64?
    let cursor: Int64
    var value: JSONValue?
    /// The time of the answer in milliseconds after the request, which waits up to two seconds.
    var after: UInt64 = 10

    var testDescription: String { name }

    static let all: [ReadingCase] = [
        ReadingCase(name: "the first answer", isCorrect: true, tag: 1, cursor: 1, value: 1),
        ReadingCase(name: "a newer value", isCorrect: true, sentTag: 1, tag: 2, cursor: 4, value: 2),
        ReadingCase(
            name: "a 304 at the end of the wait", isCorrect: true, sentTag: 2, status: 304, tag: 2, cursor: 4,
            after: 2000),
        ReadingCase(
            name: "an unset setting", isCorrect: true, sentTag: 2, status: 404, code: "not_set", tag: 5, cursor: 5),
        ReadingCase(name: "an old value", isCorrect: false, tag: 1, cursor: 2, value: 1),
        ReadingCase(name: "a wrong value", isCorrect: false, tag: 2, cursor: 2, value: 7),
        ReadingCase(
            name: "the same answer again, before the end of the wait", isCorrect: false, sentTag: 2, tag: 2, cursor: 4,
            value: 2),
        ReadingCase(
            name: "a 304 before the end of the wait", isCorrect: false, sentTag: 2, status: 304, tag: 2, cursor: 4),
        ReadingCase(
            name: "a 304 although the setting was modified", isCorrect: false, sentTag: 1, status: 304, tag: 1,
            cursor: 4, after: 2000),
        ReadingCase(
            name: "a 404 although the setting is set", isCorrect: false, status: 404, code: "not_set", cursor: 3,
            after: 2000),
        ReadingCase(name: "a value of a dropped suite", isCorrect: false, tag: 6, cursor: 7, value: 1),
        ReadingCase(name: "a dropped suite", isCorrect: true, status: 404, code: "unknown_suite", cursor: 7),
        ReadingCase(
            name: "a cursor ahead of all commits", isCorrect: false, status: 404, code: "unknown_suite", cursor: 9),
    ]

    var readings: Readings {
        let body = SettingState(
            suite: Handmade.app, key: key, value: value, source: value == nil ? .unset : .stored,
            revision: Handmade.revision(tag ?? 0), modified: nil)
        let content = Readings.Content.answer(
            status: status, code: code, tag: tag.map(Handmade.revision), cursor: Handmade.cursor(cursor),
            body: try? JSONValue(parsing: body.jsonBytes()))
        let reading = Readings.Reading(
            life: 0, sentTag: sentTag.map(Handmade.revision), wait: 2, askedAt: 0, at: after * 1_000_000,
            content: content)
        return Readings(suite: Handmade.app, key: key, all: [reading])
    }

    /// The name `a`, from a change whose other parts are unused.
    private var key: KeyName { Handmade.change("a", nil, nil, 0).key }
}
