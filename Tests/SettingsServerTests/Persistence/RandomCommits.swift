import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport

@testable import SettingsServer

/// Commits as the writer could have made them, from random numbers.
struct RandomCommits {
    var random: SeededGenerator
    var suites = ["app", "editor", "net"]
    /// What the clock says. It may go backwards; times of commits do not.
    private var clock: Int64 = 1_760_000_000_000

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &random) < percent
    }

    /// A commit on a state.
    mutating func next(on state: State, revision: Revision) throws -> Commit {
        clock += Int64.random(in: -500...1500, using: &random)
        let time = max(state.time, Timestamp(milliseconds: clock))
        let suite = try SuiteName(suites.randomElement(using: &random) ?? "app")
        var commit = Commit(revision: revision, time: time)
        if chance(20) { commit.requestKey = RequestKey("request \(revision)") }
        guard let present = state.suite(suite) else {
            commit.suiteChanges = [SuiteChange(suite: suite, kind: .created)]
            commit.changes = try changes(of: suite, present: nil, commit)
            return commit
        }
        switch Int.random(in: 0..<20, using: &random) {
        case 0:
            commit.suiteChanges = [SuiteChange(suite: suite, kind: .dropped, oldRevision: present.revision)]
            commit.changes = present.records.elements.filter { $0.stored != nil }.map {
                change(of: suite, $0, to: nil, .unset, commit)
            }
        case 1, 2:
            let document = JSONValue.object([
                "type": "object", "additionalProperties": true,
                "properties": ["key0": ["default": .integer(Int64(revision.number))], "key1": ["type": "string"]],
            ])
            commit.suiteChanges = [
                SuiteChange(suite: suite, kind: .schemaSet(revision: revision, document: document))
            ]
        case 3 where present.schema != nil:
            commit.suiteChanges = [SuiteChange(suite: suite, kind: .schemaRemoved)]
        default:
            commit.changes = try changes(of: suite, present: present, commit)
        }
        return commit
    }

    private mutating func changes(of suite: SuiteName, present: Suite?, _ commit: Commit) throws -> [Change] {
        var changes: [Change] = []
        var names: Set<Int> = []
        for _ in 0..<Int.random(in: 1...3, using: &random) { names.insert(Int.random(in: 0..<8, using: &random)) }
        for name in names.sorted() {
            let key = try KeyName(name == 7 ? "schlüssel \"7\"" : "key\(name)")
            let none = KeyRecord(
                key: key, stored: nil, standing: .unset, revision: .zero, modified: Timestamp(milliseconds: 0))
            let record = present?.record(key) ?? none
            if record.stored != nil && chance(30) {
                let isDefault = present?.schema?.schema.key(key.text)?.defaultValue != nil
                changes.append(change(of: suite, record, to: nil, isDefault ? .default : .unset, commit))
            } else if chance(10) {
                changes.append(change(of: suite, record, to: value(), .invalid, commit))
            } else {
                changes.append(change(of: suite, record, to: value(), .stored, commit))
            }
        }
        return changes
    }

    private func change(
        of suite: SuiteName, _ record: KeyRecord, to value: JSONValue?, _ source: Source, _ commit: Commit
    ) -> Change {
        Change(
            suite: suite, key: record.key, old: record.standing == .stored ? record.stored : nil,
            new: source == .stored ? value : nil, oldSource: record.standing.source, source: source,
            revision: commit.revision, modified: commit.time,
            record: Change.Record(
                oldRejected: record.standing == .invalid ? record.stored : nil,
                rejected: source == .invalid ? value : nil, oldRevision: record.revision,
                oldModified: record.modified))
    }

    private mutating func value() -> JSONValue {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: .null
        case 1: .bool(Bool.random(using: &random))
        case 2: .integer(Int64.random(in: .min ... .max, using: &random))
        case 3: .double(Double.random(in: -1e9...1e9, using: &random))
        case 4: .string(String(repeating: "ä\n\u{0}\"", count: Int.random(in: 0..<40, using: &random)))
        default: ["list": [1, 2.5, "three"], "n": .integer(Int64.random(in: 0..<9, using: &random))]
        }
    }
}
