import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

/// The values that a watcher has received, with the cursor of the last answer. `schemas` has the schema revisions of
/// the last whole state. Changes do not update `schemas`.
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

    /// Replaces the view with an answer that contains the whole state.
    mutating func apply(_ observed: ObservedState) {
        values = [:]
        schemas = [:]
        cursor = observed.cursor
        for contents in observed.suites {
            values[contents.suite] = Dictionary(uniqueKeysWithValues: contents.values.map { ($0.key, $0.value) })
            schemas[contents.suite] = contents.schemaRevision
        }
    }

    /// Applies the changes of a long poll.
    mutating func apply(_ observed: ObservedChanges) throws {
        try apply(observed.changes)
        cursor = observed.cursor
    }

    /// Applies a commit of an event stream.
    mutating func apply(_ commit: StreamCommit) throws {
        try apply(commit.changes)
        let revisions = Set(commit.changes.map(\.revision))
        #expect(revisions.isSubset(of: [commit.cursor.revision]))
        cursor = commit.cursor
    }

    /// Applies changes. The old value of each change must be the present value of the view.
    private mutating func apply(_ changes: [Change]) throws {
        let known = cursor?.revision ?? .zero
        var lastRevision = known
        for change in changes {
            try #require(
                change.revision > known && change.revision >= lastRevision, "\(change) was sent twice or out of order")
            lastRevision = change.revision
            try #require(
                values[change.suite]?[change.key] == change.old,
                "the old value of \(change) is not the value that the watcher has")
            values[change.suite, default: [:]][change.key] = change.new
        }
    }

    /// True if both views have the same values. A suite without values equals a missing suite, because changes do not
    /// distinguish an empty suite from a missing suite.
    func hasValues(of other: WatcherView) -> Bool {
        values.filter { !$0.value.isEmpty } == other.values.filter { !$0.value.isEmpty }
    }
}
