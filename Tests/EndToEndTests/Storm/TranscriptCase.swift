import SettingsAPI
import SettingsModel
import Testing

/// A transcript by hand, and what the checker has to say of it.
struct TranscriptCase: CustomTestStringConvertible {
    let name: String
    /// What a violation has to say; nil if all is right.
    let fault: String?
    /// How many commits the daemon keeps.
    var history = 100
    var watched = Handmade.all
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

/// A history by hand, and ways to write down what somebody is told of it.
enum Handmade {
    static let epoch = Epoch("e1").unsafelyThere
    static let app = (try? SuiteName("app")).unsafelyThere
    static let net = (try? SuiteName("net")).unsafelyThere
    static let all = Watched([app], isOne: true)
    static let onlyB = Watched([app], isOne: true, keys: [(try? KeyName("b")).unsafelyThere])

    /// Two suites come into being at 1; then come commits to one, to two keys of it, to the other, a schema, and a drop.
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

    /// One life, which was killed at 1000 s.
    static let record = StormRecord(
        truth: StormTruth(epoch: epoch, commits),
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
            suite: suite, key: (try? KeyName(key)).unsafelyThere, old: old, new: new,
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

/// What is asked and told.
extension Transcript.Step {
    /// The state, in answer to a question from nowhere, or in place of changes.
    static func state(
        _ values: KeyValuePairs<String, JSONValue>, at number: Int64, reset isReset: Bool = false,
        since: Int64? = nil, schema: Int64 = 0
    ) -> Self {
        let contents = SuiteContents(
            suite: Handmade.app, schemaRevision: Handmade.revision(schema),
            values: values.map { SuiteContents.Entry(key: (try? KeyName($0.key)).unsafelyThere, value: $0.value) })
        return heard(
            since, .state(ObservedState(.one(contents), cursor: Handmade.cursor(number), isReset: isReset)))
    }

    /// Changes in answer to a poll.
    static func changes(
        _ changes: [Change], since: Int64, to number: Int64, more hasMore: Bool = false, limit: Int? = nil,
        latest: Bool = false, schema: Int64 = 0, dropped: Bool = false, after milliseconds: UInt64 = 10,
        epoch: Epoch = Handmade.epoch
    ) -> Self {
        let schema = SuiteRevision(suite: Handmade.app, revision: Handmade.revision(schema))
        return heard(
            since,
            .changes(
                ObservedChanges(
                    .one(schema: schema, isDropped: dropped), cursor: Handmade.cursor(number, epoch),
                    changes: changes, hasMore: hasMore)),
            .poll(wait: 2, limit: limit, isLatest: latest), after: milliseconds)
    }

    /// A commit on a stream.
    static func event(
        _ changes: [Change], since: Int64? = nil, at number: Int64, schema: Int64? = nil, dropped: Bool = false
    ) -> Self {
        let scope = StreamCommit.Scope.one(schemaRevision: schema.map(Handmade.revision), isDropped: dropped)
        return heard(
            since, .commit(StreamCommit(scope, cursor: Handmade.cursor(number), changes: changes)), .stream)
    }

    static func heard(
        _ since: Int64?, _ told: Hearing.Told,
        _ form: Ask.Form = .poll(wait: 2, limit: nil, isLatest: false), after milliseconds: UInt64 = 10
    ) -> Self {
        let ask = Ask(life: 0, since: since.map { .revision(Handmade.revision($0)) }, form: form, at: 0)
        return .heard(Hearing(ask: ask, told: told, at: milliseconds * 1_000_000))
    }
}

extension Optional {
    /// For names in tables that are right as they stand.
    fileprivate var unsafelyThere: Wrapped {
        guard let self else { preconditionFailure("a table has a name that is none") }
        return self
    }
}
