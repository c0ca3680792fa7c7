import SettingsAPI
import SettingsModel

@testable import SettingsClient

extension World {
    /// A schema that another program sets.
    func put(schema document: JSONValue, onConflict policy: ConflictPolicy = .refuse) throws {
        _ = try backend().setSchema(document, onConflict: policy, requestKey: .unique())
    }

    /// A schema that lists these keys and admits no others.
    static func schema(of properties: JSONObject) -> JSONValue {
        ["type": "object", "additionalProperties": false, "properties": .object(properties)]
    }

    /// A program whose way to the suite can be interrupted.
    func interruptedAdapter<Keys: DefaultsKeyStore>(_ keys: Keys) -> (DefaultsAdapter<Keys>, InterruptedBackend) {
        let backend = InterruptedBackend(backend())
        return (adapter(keys, session: SuiteSession(backend)), backend)
    }

    /// The keys under which something is stored.
    func storedKeys() throws -> [String] {
        let state = try backend().load()
        return try (state.suites.first?.values ?? []).map(\.key).filter { try backend().setting($0).source.isStored }
            .map(\.text)
    }
}
