import SettingsAPI
import SettingsModel

/// What is watched as it was after each commit, made from the commits alone.
struct WatchedModel {
    /// A suite that exists.
    struct Contents: Equatable {
        var values: [KeyName: JSONValue] = [:]
        /// What is stored and does not fit the schema.
        var invalid: [KeyName: JSONValue] = [:]
        var schema = Revision.zero
        var revision = Revision.zero
        /// The commits that changed keys last, since the suite came into being.
        var revisions: [KeyName: Revision] = [:]

        /// Whether both show a watcher the same.
        func shows(_ other: Contents) -> Bool {
            values == other.values && invalid == other.invalid && schema == other.schema
        }
    }

    let watched: Watched
    private(set) var suites: [SuiteName: Contents] = [:]
    private(set) var revision = Revision.zero

    init(_ watched: Watched) {
        self.watched = watched
    }

    /// What is wrong with a commit that does not begin where those before it ended, if anything is.
    @discardableResult
    mutating func apply(_ commit: Commit) -> String? {
        revision = commit.revision
        var fault: String?
        for change in commit.suiteChanges where watched.suites.contains(change.suite) {
            switch change.kind {
            case .created: suites[change.suite] = Contents()
            case .schemaSet(let revision, _): suites[change.suite, default: Contents()].schema = revision
            case .schemaRemoved: suites[change.suite]?.schema = commit.revision
            case .dropped: break
            }
            suites[change.suite]?.revision = commit.revision
        }
        for change in commit.changes where watched.suites.contains(change.suite) {
            suites[change.suite]?.revision = commit.revision
            guard watched.admits(change.key) else { continue }
            if suites[change.suite] == nil { fault = "\(change) is of a suite that does not exist" }
            if suites[change.suite]?.values[change.key] != change.old { fault = "\(change) begins where nothing ended" }
            suites[change.suite]?.values[change.key] = change.new
            suites[change.suite]?.invalid[change.key] = change.source == .invalid ? change.stored : nil
            suites[change.suite]?.revisions[change.key] = commit.revision
        }
        for change in commit.suiteChanges where change.kind == .dropped {
            if let values = suites[change.suite]?.values, !values.isEmpty { fault = "\(values) outlast a drop" }
            suites[change.suite] = nil
        }
        return fault
    }

    /// The names that do not exist.
    var missing: [SuiteName] { watched.suites.filter { suites[$0] == nil } }

    /// The revision of each schema, zero where there is none.
    var schemas: [SuiteName: Revision] { suites.mapValues(\.schema) }
}
