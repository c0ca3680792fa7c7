import SettingsClient
import SettingsClientCompatibility
import SettingsClientTesting
import TestSupport
import Testing

// A global of this file, which shadows the global `Defaults` of SettingsClient.
// swift-format-ignore: AlwaysUseLowerCamelCase
private let Defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())

@Suite(.ownThread)
struct OwnGlobalTests {
    @Test("A global of the file shadows the Defaults of SettingsClient")
    func shadowing() {
        Defaults.launchCount += 1
        Defaults[\.username] = "me"
        let own: DefaultsAdapter<ClientKeys> = Defaults
        #expect(own.launchCount == 1 && own.username == "me")
    }

    @Test("A property that is declared with in: Defaults uses the global of the file")
    func property() {
        struct Player {
            @SwiftyUserDefault(keyPath: \.player.volume, in: Defaults) var volume
        }
        let player = Player()
        player.volume = 0.75
        #expect(Defaults.player.volume == 0.75)
    }
}
