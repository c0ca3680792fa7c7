import Foundation
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// Runs a body on a new thread. The body may block. On the client thread, which runs the sessions of all adapters, a
/// body that blocks would stop all sessions.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
    }
}

/// Runs an asynchronous body on the client thread, and blocks the calling thread until it has finished.
func blocking<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    let result = Promise<Result<Value, any Error>>()
    Task(executorPreference: ClientThread.shared) {
        do {
            result.fulfill(.success(try await body()))
        } catch {
            result.fulfill(.failure(error))
        }
    }
    return try #require(result.wait(until: .now + .seconds(120))).get()
}

/// `SuiteFixture` is a suite with the adapters and the issues of a test (`BackendKind.swift`).
extension SuiteFixture {
    /// Stores a schema, as another program would.
    func put(schema document: JSONValue, onConflict policy: ConflictPolicy = .refuse) async throws {
        _ = try await backend().setSchema(document, onConflict: policy, requestKey: .unique())
    }

    /// Returns a schema that lists these keys and allows no other keys.
    static func schema(of properties: JSONObject) -> JSONValue {
        ["type": "object", "additionalProperties": false, "properties": .object(properties)]
    }

    /// Returns an adapter, and its backend, which the test can make unreachable. With the outage timeout zero, no
    /// caller waits after a failed attempt to send a write.
    func interruptibleAdapter<Keys: DefaultsKeyStore>(_ keys: Keys) -> (DefaultsAdapter<Keys>, InterruptibleBackend) {
        let backend = InterruptibleBackend(backend())
        return (adapter(keys, session: SuiteSession(backend, options: .init(outageTimeout: .zero))), backend)
    }

    /// Waits until values are stored under exactly these keys. Returns false after `Deadline.patience` seconds.
    func waits(forStoredKeys keys: [String]) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(Deadline.patience)
        while try await storedKeys() != keys {
            guard ContinuousClock.now < deadline else { return false }
            poll(nil, 0, 1)  // Sleeps for a millisecond.
        }
        return true
    }

    /// Returns the keys that have a stored value.
    func storedKeys() async throws -> [String] {
        let backend = backend()
        let state = try await backend.load()
        var keys: [String] = []
        for key in (state.suites.first?.values ?? []).map(\.key) where try await backend.setting(key).source.isStored {
            keys.append(key.text)
        }
        return keys
    }
}
