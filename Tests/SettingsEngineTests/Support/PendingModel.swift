import SettingsAPI
import SettingsEngine
import SettingsModel

/// Suites as plain dictionaries with pending actions: the model for random tests of `PendingActions`.
struct PendingModel {
    /// The task at a deadline.
    enum Task {
        /// Reverts a commit. The suites before the commit, and the suites that were dropped by the commit and created
        /// again later.
        case revert(before: PlainSuites, commit: Revision, recreated: Set<String>)
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

    /// Notes the suites that a commit changed from nothing to something: a revert no longer recreates them.
    mutating func noteCreations(from before: PlainSuites) {
        let created = Set(plain.suites.keys).subtracting(before.suites.keys)
        guard !created.isEmpty else { return }
        for (id, action) in actions {
            guard case .revert(let old, let commit, let recreated) = action.task else { continue }
            actions[id]?.task = .revert(before: old, commit: commit, recreated: recreated.union(created))
        }
    }

    /// The names of the suites that differ between two moments.
    static func suitesChanged(from before: PlainSuites, to after: PlainSuites, at revision: Revision) -> Set<String> {
        Set(
            PlainSuites.names.filter { name in
                let (old, new) = (before.suites[name], after.suites[name])
                return (old == nil) != (new == nil) || new?.revision == revision
            })
    }

    /// Reverts a commit: restores each setting and schema that no later commit changed. `after` is not needed, because a
    /// setting that the commit changed has the revision of the commit.
    mutating func revert(before: PlainSuites, commit: Revision, recreated: Set<String>, at revision: Revision) {
        var next = plain
        for name in PlainSuites.names {
            let (old, present) = (before.suites[name], plain.suites[name])
            guard var current = present else {
                guard let old, droppedSuites[commit]?.contains(name) ?? false, !recreated.contains(name) else {
                    continue
                }
                // The commit dropped the suite: it is created again with the schema and the values that it allows.
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
                // A value that the schema does not allow, and a key that it does not admit, are not restored.
                if value == nil || changed.source(key) == .stored { current = changed }
            }
            next.suites[name] = current
        }
        _ = plain.finish(&next, at: revision)
    }

    /// The suites that commits dropped, by revision.
    var droppedSuites: [Revision: Set<String>] = [:]
}
