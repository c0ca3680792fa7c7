import SettingsHTTP
import SettingsModel

/// The lines of `watch --json`, each with the cursor from which a script continues after the line.
struct JSONChanges {
    /// The place after the last commit of which all lines are printed.
    var place: Cursor?
    let showsSecrets: Bool

    mutating func lines(
        of observation: SettingsObservation, of suite: SuiteName, _ client: DaemonClient
    ) throws -> [JSONValue] {
        switch observation {
        case .state(let state):
            place = state.cursor
            return state.isReset ? [try line(of: state, suite, client)] : []
        case .changes(let news):
            let lines = news.changes.indices.map { index in
                let change = news.changes[index]
                // Between two lines of one commit, the place is before the commit, so that none of its changes is
                // missed.
                if index + 1 == news.changes.count || news.changes[index + 1].revision != change.revision {
                    place = Cursor(epoch: news.cursor.epoch, revision: change.revision)
                }
                return change.summary(showsSecrets: showsSecrets, cursor: place)
            }
            place = news.cursor
            return lines
        }
    }

    private func line(of state: ObservedState, _ suite: SuiteName, _ client: DaemonClient) throws -> JSONValue {
        let contents = state.suites.first
        let schema = showsSecrets ? nil : try client.schema(of: suite)
        var (values, secrets) = (JSONObject(), contents?.secrets ?? [])
        for entry in contents?.values ?? [] {
            if schema?.isSecret(entry.key.text) ?? false {
                secrets.append(entry.key)
            } else {
                _ = values.append(JSONObject.Member(name: entry.key.text, value: entry.value))
            }
        }
        return .members([
            "reset": true, "suite": .string(suite.text), "cursor": .string(state.cursor.description),
            "missing": contents == nil ? true : nil, "values": .object(values),
            "secrets": secrets.isEmpty ? nil : .array(secrets.map { .string($0.text) }),
        ])
    }
}
