import Foundation
import SettingsClient
import SettingsClientCompatibility
import SettingsClientTesting
import TestSupport
import Testing

/// The code of the article FromUserDefaults of `SettingsClient`, which is compiled into this target: `DefaultsKeys` and
/// `copy(from:into:)`.
@Suite(.ownThread)
struct FromUserDefaultsTests {
    @Test("Values of user defaults are copied once")
    func copying() async throws {
        let old = try #require(UserDefaults(suiteName: "settingsd-\(UUID().uuidString)"))
        // Registered defaults are not written to a file.
        old.register(defaults: ["username": "radek", "volume": 1.5])
        let settings = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
        try await copy(from: old, into: settings)
        // 1.5 exceeds the maximum of the key.
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
        #expect(error?.description == "player.volume: must be at most 1.0 (got 11.0)")
    }
}
