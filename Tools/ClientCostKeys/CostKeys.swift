package import SettingsClient
package import Synchronization

// The keys are in a separate module, as in larger programs. The target ClientCost contains the measured reads.

package enum Theme: String, CaseIterable, DefaultsSerializable {
    case light, dark, system
}

/// A Codable value that counts how often it is decoded.
package struct Window: Codable, Hashable, DefaultsSerializable {
    package var title: String
    package var width: Int
    package var height: Int

    package static let decodes = Atomic(0)

    package init(title: String, width: Int, height: Int) {
        self.title = title
        self.width = width
        self.height = height
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        title = try values.decode(String.self, forKey: .title)
        width = try values.decode(Int.self, forKey: .width)
        height = try values.decode(Int.self, forKey: .height)
        Self.decodes.add(1, ordering: .relaxed)
    }
}

extension DefaultsKeys {
    package var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
    package var volume: DefaultsKey<Double> { .init("volume", defaultValue: 0.5, in: 0...1) }
    package var username: DefaultsKey<String?> { .init("username") }
    package var nickname: DefaultsKey<String> {
        .init("nickname", defaultValue: "nobody", maxLength: 100, matching: "^[a-z ]*$")
    }
    package var theme: DefaultsKey<Theme> { .init("theme", defaultValue: .light) }
    package var libraries: DefaultsKey<[String]> { .init("libraries", defaultValue: []) }
    package var window: DefaultsKey<Window?> { .init("window") }
    package var player: PlayerKeys { PlayerKeys() }
}

package struct PlayerKeys: DefaultsKeyStore {
    package static let prefix = "player"
    package var volume: DefaultsKey<Double> { .init(Self["volume"], defaultValue: 0.5, in: 0...1) }
    package var equalizer: EqualizerKeys { EqualizerKeys() }

    package init() {}
}

package struct EqualizerKeys: DefaultsKeyStore {
    package static let prefix = "player.equalizer"
    package var bass: DefaultsKey<Int> { .init(Self["bass"], defaultValue: 0) }
    package var bands: DefaultsKey<[Int]> { .init(Self["bands"], defaultValue: []) }

    package init() {}
}

/// Keys that are constructed once, for reads with `Defaults[key:]`. They are no members of a key store.
package enum LooseKeys {
    package static let launchCount = DefaultsKey<Int>("launchCount", defaultValue: 0)
    package static let volume = DefaultsKey<Double>("volume", defaultValue: 0.5, in: 0...1)
    package static let nickname = DefaultsKey<String>(
        "nickname", defaultValue: "nobody", maxLength: 100, matching: "^[a-z ]*$")
    package static let mode = DefaultsKey<String>(
        "playback.mode", defaultValue: "once", allowed: ["once", "repeat", "shuffle"],
        description: "what follows a title")
    package static let bass = DefaultsKey<Int>("player.equalizer.bass", defaultValue: 0)
}
