import SettingsKeys

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// The code of the article "Keys and schemas". ArticleCodeTests checks that this target contains the code of the
// articles.

enum Theme: String, CaseIterable, DefaultsSerializable {
    case light, dark
}

extension DefaultsKeys {
    var username: DefaultsKey<String?> { .init("username") }
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0, in: 0...) }
    var volume: DefaultsKey<Double> { .init("player.volume", defaultValue: 0.5, in: 0...1) }
    var theme: DefaultsKey<Theme> { .init("theme", defaultValue: .light) }
}

struct Proxy: Codable, DefaultsSerializable, Equatable {
    var host = "localhost"
    var port = 8080
    var isSecure = true
}

extension DefaultsKeys {
    var proxy: DefaultsKey<Proxy> { .init("proxy", defaultValue: Proxy()) }
}

enum Feature: String, CaseIterable, DefaultsSerializable {
    case search, voice
}

extension DefaultsKeys {
    var features: DefaultsKey<[Feature]> { .init("features", defaultValue: [], elements: .droppingUnknown) }
}

struct Account: Codable, DefaultsSerializable, Equatable {
    var name: String
    var port: Int
    var lastUsed: Date?
}

extension DefaultsKeys {
    var accounts: DefaultsKey<[Account]> { .init("accounts", defaultValue: []) }
}

struct Color: DefaultsSerializable, Hashable {
    var red, green, blue: UInt8

    struct Bridge: DefaultsBridge {
        func encode(_ color: Color) throws(BridgeError) -> JSONValue {
            .array([color.red, color.green, color.blue].map { .integer(Int64($0)) })
        }

        func decode(_ json: JSONValue) throws(BridgeError) -> Color {
            let parts = try [UInt8].defaultsBridge.decode(json)
            guard parts.count == 3 else { throw BridgeError("must be red, green and blue") }
            return Color(red: parts[0], green: parts[1], blue: parts[2])
        }

        var schema: WireSchema {
            var schema = [UInt8].defaultsBridge.schema
            schema.document["minItems"] = 3
            schema.document["maxItems"] = 3
            return schema
        }
    }

    static var defaultsBridge: Bridge { Bridge() }
}

struct PlayerKeys: DefaultsKeyStore {
    static let prefix = "player"
    var balance: DefaultsKey<Double> { .init(Self["balance"], defaultValue: 0, in: -1...1) }
}

extension DefaultsKeys {
    var player: PlayerKeys { PlayerKeys() }
}

extension DefaultsKeys {
    var visits: DefaultsKey<Int> { .init("visits", defaultValue: 0, merge: .sum) }
    var recent: DefaultsKey<[String]> { .init("recent", defaultValue: [], merge: .append) }
}

extension DefaultsKeys {
    var shelves: DefaultsKey<[String]> { .init("shelves", defaultValue: [], renamedFrom: ["folders", "paths"]) }
    var timeout: DefaultsKey<Int> {
        .init("timeout", defaultValue: 30, migrating: .from(String.self) { Int($0) ?? 30 })
    }
}
