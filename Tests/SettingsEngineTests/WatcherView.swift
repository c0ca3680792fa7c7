import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

/// The knowledge of a watcher: the values of each suite, and their cursor.
struct WatcherView: Equatable {
    var cursor: Cursor?
    var values: [SuiteName: [KeyName: JSONValue]] = [:]
    var schemas: [SuiteName: Revision] = [:]

    /// Makes the view of a watcher that has just received the state.
    init(of state: State, _ subject: WatchSubject) {
        cursor = state.cursor
        state.suites.forEach { suite in
            guard subject.includes(suite.id) else { return true }
            values[suite.id] = [:]
            schemas[suite.id] = suite.schemaRevision
            suite.records.forEach { record in
                if subject.filter.admits(record.key), let value = suite.effectiveValue(of: record) {
                    values[suite.id]?[record.key] = value
                }
                return true
            }
            return true
        }
    }

    init() {}

    mutating func take(_ observed: ObservedState) {
        values = [:]
        schemas = [:]
        cursor = observed.cursor
        for contents in observed.suites {
            values[contents.suite] = Dictionary(uniqueKeysWithValues: contents.values.map { ($0.key, $0.value) })
            schemas[contents.suite] = contents.schemaRevision
        }
    }

    mutating func take(_ observed: ObservedChanges) throws {
        try take(observed.changes, isLatest: true)
        cursor = observed.cursor
    }

    mutating func take(_ commit: StreamCommit) throws {
        try take(commit.changes, isLatest: false)
        let revisions = Set(commit.changes.map(\.revision))
        #expect(revisions.isSubset(of: [commit.cursor.revision]))
        cursor = commit.cursor
    }

    /// Each change must begin with the value with which the previous change ended.
    private mutating func take(_ changes: [Change], isLatest: Bool) throws {
        var last = cursor?.revision ?? .zero
        for change in changes {
            try #require(change.revision >= last, "\(change) comes again, or out of order")
            last = change.revision
            try #require(values[change.suite]?[change.key] == change.old, "\(change) begins where nothing ended")
            values[change.suite, default: [:]][change.key] = change.new
        }
    }

    /// True if both views have the same values. A suite without values equals a missing suite, because changes do not
    /// distinguish them.
    func hasValues(of other: WatcherView) -> Bool {
        values.filter { !$0.value.isEmpty } == other.values.filter { !$0.value.isEmpty }
    }
}
