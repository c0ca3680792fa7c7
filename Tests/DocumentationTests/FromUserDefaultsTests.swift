import Foundation
import SettingsClient
import SettingsClientCompatibility
import SettingsClientTesting
import TestSupport
import Testing

/// Tests the code of the article FromUserDefaults of `SettingsClient`. FromUserDefaultsCode and KeysAndSchemasCode
/// contain this code: `copy(from:into:)` and the keys in `DefaultsKeys`.
@Suite(.ownThread)
struct FromUserDefaultsTests {
    @Test("Values of user defaults are copied once, and ?= stores a value for a key without a stored value")
    func copying() async throws {
        let old = try #require(UserDefaults(suiteName: "settingsd-\(UUID().uuidString)"))
        // Registered defaults are not written to a file.
        old.register(defaults: ["username": "radek", "volume": 1.5])
        let settings = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
        try await copy(from: old, into: settings)
        // `copy` limits the volume to the range 0 to 1.
        #expect(settings.username == "radek" && settings.volume == 1 && settings.isCopied)
        settings.username = nil
        try await copy(from: old, into: settings)
        #expect(settings.username == nil)
        settings.username ?= old.string(forKey: "username")
        settings.theme ?= .dark
        #expect(settings.username == "radek" && settings.theme == .dark)
    }

    @Test("Setting a value beyond the limits of its key throws the error that the article shows")
    func limits() async throws {
        let settings = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
        let error = await #expect(throws: DefaultsError.self) { try await settings.set(\.volume, 11) }
        // The key `volume` has the name "player.volume".
        #expect(error?.description == "player.volume: must be at most 1.0 (got 11.0)")
    }
}
