import SettingsAPI
import SettingsModel
import Testing

/// A transcript written by hand, and the expected result of its check. A transcript has the requests and the answers of
/// one watcher in a storm, a test that kills the daemon while clients write and watch. Times are nanoseconds since the
/// start of the storm. A poll waits for two seconds. The check demands that a change arrives within 4 seconds
/// (`Patience`), and a keep-alive only after 15 seconds without an event.
struct TranscriptCase: CustomTestStringConvertible {
    let name: String
    /// A part of the expected violation; nil if the transcript is correct.
    let fault: String?
    /// The maximum number of commits in the daemon's history. The check accepts a reset if more than `history / 2`
    /// commits were made after the cursor of the watcher: see ``StormRecord/mayBeEvicted(_:at:)``.
    var history = 100
    var watched = Handmade.allOfApp
    /// True if the transcript must reach the last commit.
    var isComplete = false
    let steps: [Transcript.Step]

    var testDescription: String { name }

    var violations: [String] {
        var record = Handmade.record
        record.history = history
        let check = TranscriptCheck(Transcript(0, watched, steps), record, isComplete: isComplete)
        return check.violations.map(\.text)
    }
}

/// A history written by hand, and short forms for answers to a watcher.
enum Handmade {
    static let epoch = Epoch("e1").required
    static let app = (try? SuiteName("app")).required
    static let net = (try? SuiteName("net")).required
    static let allOfApp = Watched([app], usesSuitePath: true)
    static let keyBOfApp = Watched([app], usesSuitePath: true, keys: [(try? KeyName("b")).required])

    /// Revision 1 creates the suites `app` and `net`. Revision 4 changes `net`. The other revisions change keys of
    /// `app`, set its schema and drop the suite.
    static let commits = [
        commit(1, [change("a", nil, 1, 1), change("k", nil, 1, 1, in: net)], [created(app), created(net)]),
        commit(2, [change("a", 1, 2, 2)]),
        commit(3, [change("b", nil, 1, 3), change("c", nil, 1, 3)]),
        commit(4, [change("k", 1, 2, 4, in: net)]),
        commit(5, [change("a", 2, nil, 5)]),
        commit(6, [], [SuiteChange(suite: app, kind: .schemaSet(revision: revision(6), document: [:]))]),
        commit(
            7, [change("b", 1, nil, 7), change("c", 1, nil, 7)],
            [SuiteChange(suite: app, kind: .dropped, oldRevision: revision(6))]),
    ]

    /// One life of the daemon, which was killed after 1000 s. The check measures the delivery of revision 2 only,
    /// because only its time of acknowledgement is known: 100 ms.
    static let record = StormRecord(
        journal: JournaledCommits(epoch: epoch, commits),
        lives: [StormLife(endedAt: 1_000_000_000_000, isKilled: true, last: revision(7))], history: 100,
        acknowledged: [revision(2): 100_000_000])

    static func revision(_ number: Int64) -> Revision { Revision(number) ?? .zero }

    static func cursor(_ number: Int64, _ epoch: Epoch = epoch) -> Cursor {
        Cursor(epoch: epoch, revision: revision(number))
    }

    static func change(
        _ key: String, _ old: JSONValue?, _ new: JSONValue?, _ number: Int64, in suite: SuiteName = app
    ) -> Change {
        Change(
            suite: suite, key: (try? KeyName(key)).required, old: old, new: new,
            oldSource: old == nil ? .unset : .stored, source: new == nil ? .unset : .stored, revision: revision(number),
            modified: Timestamp(milliseconds: number))
    }

    private static func created(_ suite: SuiteName) -> SuiteChange {
        SuiteChange(suite: suite, kind: .created)
    }

    private static func commit(_ number: Int64, _ changes: [Change], _ suites: [SuiteChange] = []) -> Commit {
        Commit(
            revision: revision(number), time: Timestamp(milliseconds: number), suiteChanges: suites, changes: changes)
    }
}

/// Short forms for requests with their answers.
extension Transcript.Step {
    /// A state, in answer to a request without a cursor, or a reset.
    static func state(
        _ values: KeyValuePairs<String, JSONValue>, at number: Int64, reset isReset: Bool = false,
        since: Int64? = nil, schema: Int64 = 0
    ) -> Self {
        let contents = SuiteContents(
            suite: Handmade.app, schemaRevision: Handmade.revision(schema),
            values: values.map { SuiteContents.Entry(key: (try? KeyName($0.key)).required, value: $0.value) })
        return received(
            since, .state(ObservedState(.one(contents), cursor: Handmade.cursor(number), isReset: isReset)))
    }

    /// Changes after the revision `since`, up to the revision `number`, in the answer to a poll.
    static func changes(
        _ changes: [Change], since: Int64, to number: Int64, more hasMore: Bool = false, limit: Int? = nil,
        latest: Bool = false, schema: Int64 = 0, dropped: Bool = false, after milliseconds: UInt64 = 10,
        epoch: Epoch = Handmade.epoch
    ) -> Self {
        let schema = SuiteRevision(suite: Handmade.app, revision: Handmade.revision(schema))
        return received(
            since,
            .changes(
                ObservedChanges(
                    .one(schema: schema, isDropped: dropped), cursor: Handmade.cursor(number, epoch),
                    changes: changes, hasMore: hasMore)),
            .poll(wait: 2, limit: limit, isLatest: latest), after: milliseconds)
    }

    /// A commit as an event of a stream.
    static func event(
        _ changes: [Change], since: Int64? = nil, at number: Int64, schema: Int64? = nil, dropped: Bool = false,
        after milliseconds: UInt64 = 10
    ) -> Self {
        let scope = StreamCommit.Scope.one(schemaRevision: schema.map(Handmade.revision), isDropped: dropped)
        return received(
            since, .commit(StreamCommit(scope, cursor: Handmade.cursor(number), changes: changes)), .stream,
            after: milliseconds)
    }

    static func received(
        _ since: Int64?, _ content: Received.Content,
        _ kind: WatcherRequest.Kind = .poll(wait: 2, limit: nil, isLatest: false), after milliseconds: UInt64 = 10
    ) -> Self {
        let request = WatcherRequest(life: 0, since: since.map { .revision(Handmade.revision($0)) }, kind: kind, at: 0)
        return .received(Received(request: request, content: content, at: milliseconds * 1_000_000))
    }
}

extension Optional {
    /// The value, for names in tables that are known to be valid.
    fileprivate var required: Wrapped {
        guard let self else { preconditionFailure("a table has an invalid name") }
        return self
    }
}

extension TranscriptCase {
    private static let first = Transcript.Step.state(["a": 1], at: 1)
    // The changes of `Handmade.commits` to `app`, named by key and revision.
    private static let a2 = Handmade.change("a", 1, 2, 2)
    private static let b3 = Handmade.change("b", nil, 1, 3)
    private static let c3 = Handmade.change("c", nil, 1, 3)
    private static let a5 = Handmade.change("a", 2, nil, 5)
    private static let b7 = Handmade.change("b", 1, nil, 7)
    private static let c7 = Handmade.change("c", 1, nil, 7)

    /// A transcript that the check must accept.
    private static func correct(
        _ name: String, history: Int = 100, of watched: Watched = Handmade.allOfApp, isComplete: Bool = false,
        _ steps: Transcript.Step...
    ) -> TranscriptCase {
        TranscriptCase(name: name, fault: nil, history: history, watched: watched, isComplete: isComplete, steps: steps)
    }

    /// A transcript that the check must reject with the violation `fault`.
    private static func incorrect(
        _ name: String, _ fault: String, history: Int = 100, of watched: Watched = Handmade.allOfApp,
        isComplete: Bool = false, _ steps: Transcript.Step...
    ) -> TranscriptCase {
        TranscriptCase(
            name: name, fault: fault, history: history, watched: watched, isComplete: isComplete, steps: steps)
    }

    static let correctCases: [TranscriptCase] = [
        .correct(
            "polls to the end", isComplete: true, first, .changes([a2], since: 1, to: 2),
            .changes([b3, c3, a5], since: 2, to: 6, schema: 6), .changes([b7, c7], since: 6, to: 7, dropped: true)),
        .correct(
            "a stream to the end", isComplete: true, first, .event([a2], at: 2), .event([b3, c3], at: 3),
            .event([a5], at: 5), .event([], at: 6, schema: 6), .event([b7, c7], at: 7, dropped: true)),
        .correct(
            "commits within a limit, and a commit over the limit", first,
            .changes([a2], since: 1, to: 2, more: true, limit: 1),
            .changes([b3, c3], since: 2, to: 3, more: true, limit: 1)),
        .correct(
            "only the latest change of each key", first,
            .changes([b3, c3, Handmade.change("a", 1, nil, 5)], since: 1, to: 5, latest: true)),
        .correct(
            "only matching changes", of: Handmade.keyBOfApp, .state([:], at: 2), .changes([b3], since: 2, to: 4),
            .changes([], since: 4, to: 5, after: 2000), .changes([], since: 5, to: 6, schema: 6)),
        .correct(
            "a reset after the history lost the cursor", history: 4, first,
            .state(["b": 1, "c": 1], at: 5, reset: true, since: 1)),
        .correct(
            "a stream whose reader is behind", first, .event([a2], at: 2, after: 3000),
            .event([b3, c3], at: 3, after: 6000)),
        .correct("a drop after the history lost the cursor", history: 4, first, .event([], at: 7, dropped: true)),
        .correct(
            "no change at the end of the wait", first, .changes([a2], since: 1, to: 2),
            .changes([], since: 2, to: 2, after: 2000)),
        .correct(
            "a watcher that returns to a saved cursor", first, .savedState, .changes([a2], since: 1, to: 2),
            .returnedToSavedState, .changes([a2], since: 1, to: 2)),
        .correct(
            "a keep-alive with a cursor after the creation and the drop of the suite",
            .received(nil, .missing(Handmade.cursor(0)), .stream),
            .received(nil, .cursorOnly(Handmade.cursor(7)), .stream, after: 16_000)),
        .correct("absence after the drop", isComplete: true, .received(nil, .absent(Handmade.cursor(7)), after: 2000)),
    ]

    static let incorrectCases: [TranscriptCase] = [
        .incorrect("a commit missed by a poll", "missing: [", first, .changes([b3, c3], since: 1, to: 3)),
        .incorrect(
            "a keep-alive with a cursor after the creation of a suite that exists", "passes over",
            .received(nil, .missing(Handmade.cursor(0)), .stream),
            .received(nil, .cursorOnly(Handmade.cursor(5)), .stream, after: 16_000)),
        .incorrect("a commit missed by a stream", "the next commits are", first, .event([b3, c3], at: 3)),
        .incorrect(
            "a commit missed by an answer without changes", "missing: [", first,
            .changes([], since: 1, to: 2, after: 2000)),
        .incorrect(
            "a schema missed by a stream", "the next commits are", .state(["b": 1, "c": 1], at: 5),
            .event([b7, c7], at: 7, dropped: true)),
        .incorrect(
            "a commit that comes in two polls", "unexpected: [", first, .changes([a2], since: 1, to: 2),
            .changes([a2, b3, c3], since: 2, to: 3)),
        .incorrect(
            "a commit that comes twice in a stream", "the next commits are", first, .event([a2], at: 2),
            .event([a2], at: 2)),
        .incorrect(
            "a change that comes twice in one answer", "unexpected", first, .changes([a2, a2], since: 1, to: 2)),
        .incorrect(
            "commits out of order in an answer", "is listed after", first, .changes([b3, c3, a2], since: 1, to: 3)),
        .incorrect(
            "commits out of order in a stream", "the next commits are", first, .event([b3, c3], at: 3),
            .event([a2], at: 2)),
        .incorrect(
            "a wrong old value", "missing: [", first, .changes([Handmade.change("a", 7, 2, 2)], since: 1, to: 2)),
        .incorrect("a wrong new value", "missing: [", first, .event([Handmade.change("a", 1, 3, 2)], at: 2)),
        .incorrect(
            "a commit split over two answers", "missing: [", .state(["a": 2], at: 2), .changes([b3], since: 2, to: 3),
            .changes([c3], since: 3, to: 3)),
        .incorrect(
            "a commit split over two answers, its revision in the second", "unexpected",
            .state(["a": 2], at: 2), .changes([b3], since: 2, to: 2, more: true, limit: 1),
            .changes([c3], since: 2, to: 3)),
        .incorrect("half a commit on a stream", "missing: [", .state(["a": 2], at: 2), .event([b3], at: 3)),
        .incorrect(
            "a change that does not match", "does not watch", of: Handmade.keyBOfApp, .state([:], at: 2),
            .changes([b3, c3], since: 2, to: 3)),
        .incorrect(
            "a change of another suite", "does not watch", .state(["a": 2, "b": 1, "c": 1], at: 3),
            .changes([Handmade.change("k", 1, 2, 4, in: Handmade.net), a5], since: 3, to: 5)),
        .incorrect(
            "a commit that was never made", "the next commits are", first, .event([a2], at: 2),
            .event([Handmade.change("a", 2, 3, 4)], at: 4)),
        .incorrect("a cursor that goes back", "goes back", .state(["a": 2], at: 2), .changes([], since: 2, to: 1)),
        .incorrect("a state older than a received commit", "before", .state(["a": 2], at: 2), .discardedState, first),
        .incorrect(
            "a cursor of another epoch", "another epoch", first,
            .changes([a2], since: 1, to: 2, epoch: Epoch("e2") ?? Handmade.epoch)),
        .incorrect("a cursor ahead of all commits", "ahead of all commits", .state([:], at: 9)),
        .incorrect("a state that never existed", "the state at 2 is", .state(["a": 1], at: 2)),
        .incorrect("a schema that never existed", "the state at 1 is", .state(["a": 1], at: 1, schema: 1)),
        .incorrect(
            "a schema that comes late", "schema of app", .state(["b": 1, "c": 1], at: 5), .changes([], since: 5, to: 6)),
        .incorrect(
            "a drop that is not reported", "dropped is false", .state(["b": 1, "c": 1], at: 6, schema: 6),
            .changes([b7, c7], since: 6, to: 7)),
        .incorrect(
            "a drop without the preceding commits", "the next commits are", first, .event([], at: 7, dropped: true)),
        .incorrect(
            "a drop of a suite that exists", "the suite exists", history: 4, first, .event([], at: 5, dropped: true)),
        .incorrect(
            "a reset although the history has the cursor", "although the history has its cursor", first,
            .state(["a": 2], at: 2, reset: true, since: 1)),
        .incorrect(
            "a state to a watcher with a cursor", "although it has sent a cursor", first,
            .state(["a": 2], at: 2, since: 1)),
        .incorrect(
            "no change before the end of the wait", "an answer without changes arrived after", .state(["a": 2], at: 2),
            .changes([], since: 2, to: 2, after: 500)),
        .incorrect("an event that comes late", "was not delivered in time", first, .event([a2], at: 2, after: 9000)),
        .incorrect(
            "a commit that comes late", "was not delivered in time", first, .changes([a2], since: 1, to: 2, after: 9000)
        ),
        .incorrect(
            "a commit that does not come", "was not delivered in time", first,
            .received(1, .disconnected, .stream, after: 9000)),
        .incorrect("more than the limit", "over the limit", first, .changes([a2, b3, c3], since: 1, to: 3, limit: 2)),
        .incorrect(
            "less than the limit", "although more would be within", first,
            .changes([a2], since: 1, to: 2, more: true, limit: 3)),
        .incorrect(
            "more changes announced than exist", "but there are none", .state(["b": 1, "c": 1], at: 6, schema: 6),
            .changes([b7, c7], since: 6, to: 7, more: true, limit: 2, dropped: true)),
        .incorrect(
            "a transcript that ends before the last commit", "the transcript ends at", isComplete: true, first,
            .changes([a2], since: 1, to: 2)),
        .incorrect(
            "absence of a suite that exists", "the suite exists",
            .received(nil, .absent(Handmade.cursor(6)), after: 2000)),
        .incorrect(
            "absence before the end of the wait", "an answer without changes arrived after",
            .received(nil, .absent(Handmade.cursor(7)))),
        .incorrect(
            "absence instead of the drop", "did not receive", .state(["b": 1, "c": 1], at: 6, schema: 6),
            .received(6, .absent(Handmade.cursor(7)), after: 2000)),
        .incorrect(
            "a connection lost while the daemon runs", "while the daemon was running", first, .received(1, .lost)),
        .incorrect("a stream that ends", "the stream ended", first, .received(1, .ended, .stream)),
        .incorrect("an answer that never comes", "no answer arrived", first, .received(1, .noAnswer)),
        .incorrect(
            "a keep-alive too early", "had not been silent", .state(["a": 2], at: 2),
            .received(2, .cursorOnly(Handmade.cursor(2)), .stream)),
        .incorrect(
            "a cursor after a missed commit", "passes over", first,
            .received(1, .cursorOnly(Handmade.cursor(2)), .stream, after: 16_000)),
    ]
}
