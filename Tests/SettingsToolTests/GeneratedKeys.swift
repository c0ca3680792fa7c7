// Generated from the schema of app by 'settings schema generate swift'.

import Foundation
import SettingsClient

extension DefaultsKeys {
    var key2ndKey: DefaultsKey<Bool> { .init("2nd-key", defaultValue: true) }

    var key2ndKey2: DefaultsKey<Bool?> { .init("2nd.key") }

    var url: DefaultsKey<String> { .init("URL", defaultValue: "") }

    var anything: DefaultsKey<JSONValue> { .init("anything", defaultValue: [true, "x"]) }

    var `class`: DefaultsKey<String> { .init("class", defaultValue: "a \"quoted\"\n\\text") }

    var due: DefaultsKey<Date> { .init("due", defaultValue: Date(timeIntervalSinceReferenceDate: 816861600.0)) }

    var icon: DefaultsKey<Data> { .init("icon", defaultValue: Data(base64Encoded: "AAEC") ?? Data()) }

    var labels: DefaultsKey<[String: JSONValue]> { .init("labels", defaultValue: ["a": [1, .null, ["b": 2.5]]]) }

    /// Times the app was started
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0, in: 0...) }

    var level: DefaultsKey<Int?> { .init("level", in: 1..<10) }

    var libraries: DefaultsKey<[String]> { .init("libraries", defaultValue: ["a", "b"]) }

    var mixed: DefaultsKey<JSONValue?> { .init("mixed") }

    var playerVolume: DefaultsKey<Double> { .init("player.volume", defaultValue: 0.5, in: 0...1) }

    var retries: DefaultsKey<Int> { .init("retries", defaultValue: 2, allowed: [1, 2, 5]) }

    enum String2: String, CaseIterable, DefaultsSerializable {
        case a
        case b
    }

    var string: DefaultsKey<String2?> { .init("string") }

    var temperature: DefaultsKey<Double> { .init("temperature", defaultValue: -1.5, in: ...(-1)) }

    enum Theme: String, CaseIterable, DefaultsSerializable {
        case light
        case darkMode = "dark mode"
        case `default`
        case empty = ""
    }

    var theme: DefaultsKey<Theme> { .init("theme", defaultValue: .darkMode) }

    var token: DefaultsKey<String?> { .init("token", matching: "^[a-z\"\\\\]+$", secret: true) }

    var username: DefaultsKey<String?> { .init("username", maxLength: 20) }
}
