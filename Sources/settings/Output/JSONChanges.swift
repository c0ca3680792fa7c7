import SettingsHTTP
import SettingsModel

/// The lines of `watch --json`, each with the cursor from which a script continues after the line.
struct JSONChanges {
    /// The cursor after the last commit for which all lines have been made.
    var cursor: Cursor?
    let showsSecrets: Bool

    mutating func lines(of observation: SettingsObservation, _ client: DaemonClient) throws -> [JSONValue] {
        switch observation {
        case .state(let state):
            cursor = state.cursor
            return state.isReset ? [try line(of: state, client)] : []
        case .changes(let observed):
            let lines = observed.changes.indices.map { index in
                let change = observed.changes[index]
                // Only the last line of a commit has the cursor after the commit. The other lines have the cursor
                // before the commit, so that a script that continues from this cursor misses no change of the commit.
                if index + 1 == observed.changes.count || observed.changes[index + 1].revision != change.revision {
                    cursor = Cursor(epoch: observed.cursor.epoch, revision: change.revision)
                }
                return change.summary(showsSecrets: showsSecrets, cursor: cursor)
            }
            cursor = observed.cursor
            return lines
        }
    }

    /// Makes the line for a reset: the present values, because the daemon cannot return the changes after the cursor
    /// from which the watcher continued.
    private func line(of state: ObservedState, _ client: DaemonClient) throws -> JSONValue {
        // `missing` are the requested suites that do not exist.
        var (values, secrets, missing) = (JSONObject(), JSONObject(), [SuiteName]())
        if case .several(_, missing: let names) = state.scope { missing = names }
        for contents in state.suites {
            // `contents.secrets` are the secrets that the caller may not read. Without `showsSecrets`, the line also
            // conceals the secrets that the caller may read.
            let schema = showsSecrets ? nil : try client.schema(of: contents.suite)
            var (shown, concealed) = (JSONObject(), contents.secrets)
            for entry in contents.values {
                if schema?.isSecret(entry.key.text) ?? false {
                    concealed.append(entry.key)
                } else {
                    shown.append(.init(name: entry.key.text, value: entry.value))
                }
            }
            values.append(.init(name: contents.suite.text, value: .object(shown)))
            guard !concealed.isEmpty else { continue }
            secrets.append(.init(name: contents.suite.text, value: .array(concealed.map { .string($0.text) })))
        }
        return .members([
            "reset": true, "cursor": .string(state.cursor.description), "values": .object(values),
            "secrets": secrets.isEmpty ? nil : .object(secrets),
            "missing": missing.isEmpty ? nil : .array(missing.map { .string($0.text) }),
        ])
    }
}
