import SettingsAPI
import SettingsHTTP
import SettingsModel

/// The effective values of suites at a revision.
struct SettingsSnapshot: Sendable {
    struct Suite: Sendable {
        let name: SuiteName
        fileprivate(set) var values: [KeyName: JSONValue]
        /// The secrets that the caller may not read.
        fileprivate(set) var concealed: Set<KeyName>
        fileprivate let schemaRevision: Revision
        fileprivate let schema: Schema?
        /// Secrets among the changed settings. A setting stays a secret if the schema no longer says so.
        fileprivate var changedSecrets: Set<KeyName> = []

        func isSecret(_ key: KeyName) -> Bool {
            changedSecrets.contains(key) || schema?.isSecret(key.text) ?? false
        }
    }

    /// The suites that exist and that the caller may read.
    private(set) var suites: [SuiteName: Suite] = [:]
    private var revision = Revision.zero

    /// A snapshot without suites.
    init() {}

    /// Reads the suites.
    init(of names: [SuiteName], from client: DaemonClient) async throws {
        guard !names.isEmpty else { return }
        let endpoint = Endpoint<SettingsObservation>.observe(names, wait: .zero)
        guard case .state(let state) = try await client.send(endpoint) else { return }
        revision = state.cursor.revision
        for contents in state.suites {
            let schema = contents.schemaRevision == .zero ? nil : try client.schema(of: contents.suite)
            var values: [KeyName: JSONValue] = [:]
            for entry in contents.values { values[entry.key] = entry.value }
            suites[contents.suite] = Suite(
                name: contents.suite, values: values, concealed: Set(contents.secrets),
                schemaRevision: contents.schemaRevision, schema: schema)
        }
    }

    /// Applies changes. Returns false if the suites must be read again, because a suite was created or removed, or has
    /// another schema.
    mutating func apply(_ news: ObservedChanges) -> Bool {
        guard case .several(let schemas, let dropped, _) = news.scope, dropped.isEmpty,
            schemas.count == suites.count,
            schemas.allSatisfy({ suites[$0.suite]?.schemaRevision == $0.revision })
        else { return false }
        // The snapshot may be newer than the first changes.
        for change in news.changes where change.revision > revision {
            guard var suite = suites[change.suite] else { return false }
            suites[change.suite] = nil
            suite.values[change.key] = change.new
            if change.isConcealed, change.source.isStored {
                suite.concealed.insert(change.key)
            } else {
                suite.concealed.remove(change.key)
            }
            if change.isSecret { suite.changedSecrets.insert(change.key) }
            suites[change.suite] = suite
        }
        return true
    }
}
