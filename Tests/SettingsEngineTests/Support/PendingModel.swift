import SettingsAPI
import SettingsEngine
import SettingsModel

/// Suites as plain dictionaries with pending actions: the model for random tests of `PendingActions`.
struct PendingModel {
    /// The task that the daemon carries out at a deadline.
    enum Task {
        /// Reverts a commit. `before` has the suites before the commit. `recreated` has the suites that later commits
        /// created.
        case revert(before: PlainSuites, commit: Revision, recreated: Set<String>)
        /// Carries out a scheduled write. If `until` is not nil, the daemon reverts the write at this time.
        case write(WriteCommand, until: Int64?)
    }

    struct Action {
        var deadline: Int64
        var task: Task
        /// The suites that the action concerns.
        var suites: Set<String>
    }

    var plain = PlainSuites()
    var actions: [PendingID: Action] = [:]

    /// Records the suites that a commit created: a pending revert does not create these suites again.
    mutating func recordCreations(from before: PlainSuites) {
        let created = Set(plain.suites.keys).subtracting(before.suites.keys)
        guard !created.isEmpty else { return }
        for (id, action) in actions {
            guard case .revert(let old, let commit, let recreated) = action.task else { continue }
            actions[id]?.task = .revert(before: old, commit: commit, recreated: recreated.union(created))
        }
    }

    /// The names of the suites that the commit with the revision changed.
    static func suitesChanged(from before: PlainSuites, to after: PlainSuites, at revision: Revision) -> Set<String> {
        Set(
            PlainSuites.names.filter { name in
                let (old, new) = (before.suites[name], after.suites[name])
                return (old == nil) != (new == nil) || new?.revision == revision
            })
    }

    /// Reverts a commit: restores each setting and schema that no later commit changed. A setting or schema still has
    /// the revision of the commit if and only if no later commit changed it.
    mutating func revert(before: PlainSuites, commit: Revision, recreated: Set<String>, at revision: Revision) {
        var next = plain
        for name in PlainSuites.names {
            let (old, present) = (before.suites[name], plain.suites[name])
            guard var current = present else {
                guard let old, droppedSuites[commit]?.contains(name) ?? false, !recreated.contains(name) else {
                    continue
                }
                // The commit dropped the suite, so the revert creates the suite with its schema and with the values
                // that the schema allows.
                var restored = PlainSuites.Plain()
                restored.schema = old.schema
                for (key, value) in old.stored where old.source(key) == .stored { restored.stored[key] = value }
                next.suites[name] = restored
                continue
            }
            if droppedSuites[commit]?.contains(name) ?? false { continue }
            let oldSchema = old?.schema
            if current.schemaRevision == commit, oldSchema?.document != current.schema?.document {
                var candidate = current
                candidate.schema = oldSchema
                let isRefused = PlainSuites.keys.contains { key in
                    let isNewlyInvalid = candidate.source(key) == .invalid && current.source(key) != .invalid
                    return isNewlyInvalid && (current.revisions[key] ?? current.floor) > commit
                }
                if !isRefused { current = candidate }
            }
            for key in PlainSuites.keys where present?.revisions[key] == commit {
                let value = old?.stored[key]
                guard current.stored[key] != value else { continue }
                var changed = current
                changed.stored[key] = value
                // The revert does not restore a value that the schema refuses, or a key that the schema forbids.
                if value == nil || changed.source(key) == .stored { current = changed }
            }
            next.suites[name] = current
        }
        _ = plain.finish(&next, at: revision)
    }

    /// The suites that each commit dropped, by the revision of the commit.
    var droppedSuites: [Revision: Set<String>] = [:]
}
