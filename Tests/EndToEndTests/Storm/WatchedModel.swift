import SettingsAPI
import SettingsModel

/// The watched suites, computed from the commits alone.
struct WatchedModel {
    /// A suite that exists.
    struct Contents: Equatable {
        var values: [KeyName: JSONValue] = [:]
        /// The stored values that the schema does not allow.
        var invalid: [KeyName: JSONValue] = [:]
        var schema = Revision.zero
        var revision = Revision.zero
        /// The last commit of each key since the creation of the suite.
        var revisions: [KeyName: Revision] = [:]

        /// True if a watcher sees no difference between both contents.
        func looksLike(_ other: Contents) -> Bool {
            values == other.values && invalid == other.invalid && schema == other.schema
        }
    }

    let watched: Watched
    private(set) var suites: [SuiteName: Contents] = [:]
    private(set) var revision = Revision.zero

    init(_ watched: Watched) {
        self.watched = watched
    }

    /// Applies a commit. Returns the description of a fault if an old value of the commit does not match the model, if
    /// a changed suite does not exist, or if a dropped suite still has values.
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
            if suites[change.suite]?.values[change.key] != change.old {
                fault = "the old value of \(change) does not match"
            }
            suites[change.suite]?.values[change.key] = change.new
            suites[change.suite]?.invalid[change.key] = change.source == .invalid ? change.stored : nil
            suites[change.suite]?.revisions[change.key] = commit.revision
        }
        for change in commit.suiteChanges where change.kind == .dropped {
            if let values = suites[change.suite]?.values, !values.isEmpty {
                fault = "the dropped suite still has \(values)"
            }
            suites[change.suite] = nil
        }
        return fault
    }

    /// The watched suites that do not exist.
    var missing: [SuiteName] { watched.suites.filter { suites[$0] == nil } }

    /// The commit that last set or removed the schema of each suite; zero if the suite never had a schema.
    var schemas: [SuiteName: Revision] { suites.mapValues(\.schema) }
}

/// The suites and keys that a watcher watches. The filter is implemented independently of the daemon.
struct Watched: Sendable, CustomStringConvertible {
    /// The suites, ordered by name.
    var suites: [SuiteName]
    /// True if the watcher requests one suite by its path.
    var usesSuitePath: Bool
    var keys: [KeyName] = []
    var prefixes: [String] = []

    init(_ suites: [SuiteName], usesSuitePath: Bool, keys: [KeyName] = [], prefixes: [String] = []) {
        self.suites = suites
        self.usesSuitePath = usesSuitePath
        self.keys = keys
        self.prefixes = prefixes
    }

    func admits(_ key: KeyName) -> Bool {
        if keys.isEmpty && prefixes.isEmpty { return true }
        return keys.contains(key) || prefixes.contains { key.text.utf8.starts(with: $0.utf8) }
    }

    func admits(_ change: Change) -> Bool {
        suites.contains(change.suite) && admits(change.key)
    }

    /// True if the watcher must receive a commit. A creation, a drop and a schema of a watched suite always count.
    func concerns(_ commit: Commit) -> Bool {
        commit.suiteChanges.contains { suites.contains($0.suite) } || commit.changes.contains(where: admits)
    }

    /// The changes of a commit that the watcher must receive, without the members that only the journal has.
    func changes(of commit: Commit) -> [Change] {
        commit.changes.filter(admits).map { change in
            var change = change
            change.record = Change.Record()
            return change
        }
    }

    /// The path and query for observing, to which more parameters can be appended.
    var target: String {
        var query = usesSuitePath ? [] : suites.map { "suite=\($0.text)" }
        query += keys.map { "key=\($0.text.inTarget)" } + prefixes.map { "prefix=\($0.inTarget)" }
        let path = usesSuitePath ? "/v1/suites/\(suites[0].text)/observe" : "/v1/observe"
        return path + "?" + query.map { $0 + "&" }.joined()
    }

    var description: String { target }
}

extension String {
    /// The text with every byte except ASCII letters and digits percent-encoded.
    var inTarget: String {
        utf8.map { byte -> String in
            let scalar = Unicode.Scalar(byte)
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            let digits = String(byte, radix: 16, uppercase: true)
            return isPlain ? String(scalar) : "%" + (digits.utf8.count < 2 ? "0" : "") + digits
        }
        .joined()
    }
}
