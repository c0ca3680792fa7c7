public import SettingsClient
public import Synchronization

// The keys of a program, in a module of their own as larger programs have them. What is measured is compiled elsewhere.

public enum Theme: String, CaseIterable, DefaultsSerializable {
    case light, dark, system
}

/// A value that travels by `Codable`, and counts how often it is made from what is stored.
public struct Window: Codable, Hashable, DefaultsSerializable {
    public var title: String
    public var width: Int
    public var height: Int

    public static let decodes = Atomic(0)

    public init(title: String, width: Int, height: Int) {
        self.title = title
        self.width = width
        self.height = height
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        title = try values.decode(String.self, forKey: .title)
        width = try values.decode(Int.self, forKey: .width)
        height = try values.decode(Int.self, forKey: .height)
        Self.decodes.add(1, ordering: .relaxed)
    }
}

extension DefaultsKeys {
    public var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
    public var volume: DefaultsKey<Double> { .init("volume", defaultValue: 0.5, in: 0...1) }
    public var username: DefaultsKey<String?> { .init("username") }
    public var nickname: DefaultsKey<String> {
        .init("nickname", defaultValue: "nobody", maxLength: 100, matching: "^[a-z ]*$")
    }
    public var theme: DefaultsKey<Theme> { .init("theme", defaultValue: .light) }
    public var libraries: DefaultsKey<[String]> { .init("libraries", defaultValue: []) }
    public var window: DefaultsKey<Window?> { .init("window") }
    public var player: PlayerKeys { PlayerKeys() }
}

public struct PlayerKeys: DefaultsKeyStore {
    public static let prefix = "player"
    public var volume: DefaultsKey<Double> { .init(Self["volume"], defaultValue: 0.5, in: 0...1) }
    public var equalizer: EqualizerKeys { EqualizerKeys() }

    public init() {}
}

public struct EqualizerKeys: DefaultsKeyStore {
    public static let prefix = "player.equalizer"
    public var bass: DefaultsKey<Int> { .init(Self["bass"], defaultValue: 0) }
    public var bands: DefaultsKey<[Int]> { .init(Self["bands"], defaultValue: []) }

    public init() {}
}

/// Keys that are made once, for `[key:]`.
public enum LooseKeys {
    public static let launchCount = DefaultsKey<Int>("launchCount", defaultValue: 0)
    public static let volume = DefaultsKey<Double>("volume", defaultValue: 0.5, in: 0...1)
    public static let nickname = DefaultsKey<String>(
        "nickname", defaultValue: "nobody", maxLength: 100, matching: "^[a-z ]*$")
    public static let mode = DefaultsKey<String>(
        "playback.mode", defaultValue: "once", allowed: ["once", "repeat", "shuffle"],
        description: "what follows a title")
    public static let bass = DefaultsKey<Int>("player.equalizer.bass", defaultValue: 0)
}
