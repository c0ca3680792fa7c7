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

    var plainSuites = PlainSuites()
    var actions: [PendingID: Action] = [:]

    /// Records the suites that a commit created: a pending revert does not create these suites again. `before` has the
    /// suites before the commit.
    mutating func recordCreations(from before: PlainSuites) {
        let created = Set(plainSuites.suites.keys).subtracting(before.suites.keys)
        guard !created.isEmpty else { return }
        for (id, action) in actions {
            guard case .revert(let old, let commit, let recreated) = action.task else { continue }
            actions[id]?.task = .revert(before: old, commit: commit, recreated: recreated.union(created))
        }
    }

    /// The names of the suites that the commit with the revision changed.
    static func suitesChanged(from before: PlainSuites, to after: PlainSuites, at revision: Revision) -> Set<String> {
        Set(
            PlainSuites.suiteNames.filter { name in
                let (old, new) = (before.suites[name], after.suites[name])
                return (old == nil) != (new == nil) || new?.revision == revision
            })
    }

    /// Reverts a commit: restores each setting and schema that no later commit changed. A setting or schema still has
    /// the revision of the commit if and only if no later commit changed it.
    mutating func revert(before: PlainSuites, commit: Revision, recreated: Set<String>, at revision: Revision) {
        var next = plainSuites
        for name in PlainSuites.suiteNames {
            let (old, present) = (before.suites[name], plainSuites.suites[name])
            guard var reverted = present else {
                guard let old, droppedSuites[commit]?.contains(name) ?? false, !recreated.contains(name) else {
                    continue
                }
                // The commit dropped the suite, so the revert creates the suite with its schema and with the values
                // that the schema allows.
                var restored = PlainSuites.PlainSuite()
                restored.schema = old.schema
                for (key, value) in old.stored where old.source(key) == .stored { restored.stored[key] = value }
                next.suites[name] = restored
                continue
            }
            // The commit dropped the suite, and a later commit created it again. The revert keeps the new suite.
            if droppedSuites[commit]?.contains(name) ?? false { continue }
            let oldSchema = old?.schema
            if reverted.schemaRevision == commit, oldSchema?.document != reverted.schema?.document {
                // The revert keeps the present schema if the old schema refuses a value that a later commit stored.
                var candidate = reverted
                candidate.schema = oldSchema
                let isRefused = PlainSuites.keys.contains { key in
                    let isNewlyInvalid = candidate.source(key) == .invalid && reverted.source(key) != .invalid
                    return isNewlyInvalid && (reverted.revisions[key] ?? reverted.unwrittenKeyRevision) > commit
                }
                if !isRefused { reverted = candidate }
            }
            for key in PlainSuites.keys where present?.revisions[key] == commit {
                let value = old?.stored[key]
                guard reverted.stored[key] != value else { continue }
                var changed = reverted
                changed.stored[key] = value
                // The revert does not restore a value that the schema refuses, or a key that the schema forbids.
                if value == nil || changed.source(key) == .stored { reverted = changed }
            }
            next.suites[name] = reverted
        }
        _ = plainSuites.commit(&next, at: revision)
    }

    /// The suites that each commit dropped, by the revision of the commit.
    var droppedSuites: [Revision: Set<String>] = [:]
}
