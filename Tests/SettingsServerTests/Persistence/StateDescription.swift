import SettingsAPI
import SettingsEngine
import SettingsModel

/// A complete state as lines of text that can be compared. The lines contain internal values, too, such as the records
/// of removed keys, because a start must restore them.
struct StateDescription: Hashable, CustomStringConvertible {
    /// The epoch, the revision and the time of the last commit.
    let position: [String]
    /// The stored values and schemas.
    let content: [String]
    /// The recent commits, also by suite: the log of a suite lists its commits. An oversized commit is too large for
    /// the history, so it is in no log.
    let history: [String]
    /// The pending actions, each with the commit that the action reverts, and with the suites that this commit dropped
    /// and that a later commit created again.
    let pending: [String]

    init(_ state: State) {
        position = ["epoch \(state.epoch)", "revision \(state.revision)", "time \(state.time.milliseconds)"]
        var lines = ["last drop \(state.lastDropRevision)"]
        state.suites.forEach { suite in
            let counts = "keys \(suite.keyCount) invalid \(suite.invalidCount)"
            lines.append("suite \(suite.id) \(suite.revision) schema \(suite.schemaRevision) \(counts)")
            if let schema = suite.schema {
                lines.append("schema \(schema.revision) \(schema.schema.document.text())")
            }
            suite.records.forEach { record in
                lines.append(Self.line(record))
                return true
            }
            lines += suite.removed.records.map { "removed " + Self.line($0) }
            lines.append("revision of keys without a record \(suite.removed.unknownKeyRevision)")
            return true
        }
        content = lines + ["\(state.size) bytes"]
        pending = state.pending.byDeadline.map { entry in
            let commit = entry.commit.map { "\($0.revision): \($0.commit.jsonText())" } ?? "-"
            return "\(entry.action.jsonText()) \(commit) \(entry.recreated.map(\.text).sorted())"
        }
        let stateHistory = state.history
        var logs: [String] = []
        stateHistory.forEachLog { log in
            let revisions = stateHistory.commits(of: log.suite, after: .zero).map { "\($0.commit.revision)" }
            let list = revisions.joined(separator: " ")
            logs.append("\(log.suite) after \(log.evictedThrough), oversized \(log.lastOversized): \(list)")
            return true
        }
        history =
            [
                "oldest \(stateHistory.oldestAvailable), without log \(stateHistory.oldestAvailableWithoutLog)",
                "evicted through \(stateHistory.evictedThrough), \(stateHistory.count) commits, \(stateHistory.size) bytes",
            ]
            + logs + stateHistory.all.map { "\($0.size) \($0.commit.jsonText())" }
    }

    private static func line(_ record: KeyRecord) -> String {
        let stored = record.stored?.text() ?? "nothing"
        return "\(record.key) \(stored) \(record.valueSource) \(record.revision) \(record.modified.milliseconds) "
            + "\(record.origin?.by ?? "-") \(record.origin?.note ?? "-")"
    }

    var description: String { (position + content + pending + history).joined(separator: "\n") }
}
