import Foundation
import SettingsClient
import SettingsClientCompatibility

// The code of the article "Coming from SwiftyUserDefaults or Defaults". ArticleCodeTests checks that this target
// contains the code of the articles. FromUserDefaultsTests calls `copy`; the other functions must only compile.
// ObservingSettingsCode declares `Defaults`, and KeysAndSchemasCode declares most of its keys.

func startProgram() async throws {
    try await Defaults.ready()  // loads the suite
    Defaults.launchCount += 1  // returns at once
    try await Defaults.set(\.volume, 0.8)  // returns when the daemon has stored the value
}

// The snippets of the tables of the article.

struct User: Codable, DefaultsSerializable {
    var name: String
}

extension DefaultsKeys {
    var quality: DefaultsKey<Double> { .init("quality", defaultValue: 0.8) }
    var window: DefaultsKey<[String: JSONValue]> { .init("window", defaultValue: ["width": 800, "title": "Main"]) }
    var user: DefaultsKey<User?> { .init("user") }
}

func useSnippetsAsTheyAre() {
    Defaults[\.launchCount] += 1
    Defaults.launchCount += 1
    Defaults[\.accounts].append(Account(name: "home", port: 993))
    Defaults.accounts[0].port = 143
    Defaults[key: DefaultsKey<String?>("color")] = "red"
    Defaults.username = nil
    Defaults[\.username] ?= "anonymous"
    Defaults[\.launchCount]++
    if Defaults.hasKey(\.theme) { Defaults.remove(\.theme) }
    Defaults.removeAll()
    Defaults["color"] = "red"
    Defaults["count"] += 1
    print(Defaults["color"].stringValue, Defaults["count"].int ?? 0)
    let observation = Defaults.observe(\.theme) { print($0.oldValue as Any, $0.newValue) }
    observation.dispose()
    Defaults.register(defaults: ["launchCount": 1])
}

struct ReplacedProperties {
    @SwiftyUserDefault(keyPath: \.theme, in: Defaults) var theme
    @Setting(\.quality, in: Defaults) var quality
}

func useReplacements(_ color: DefaultsKey<String?>) async throws {
    let settings = DefaultsAdapter(suite: "com.my.app", keyStore: DefaultsKeys())
    Defaults[key: color] = "red"
    print(Defaults.hasKey(key: color), Defaults.hasKey("color"), settings.window["width"]?.integer as Any)
    let observation = Defaults.observe(\.theme) { update in print(update.newValue.rawValue) }
    observation.cancel()
    _ = Defaults.observe(\.quality, options: [.initial, .old]) { print($0.newValue) }
    try await Defaults.synchronize()
    Defaults[\.quality] += 0.1
    Defaults.remove(\.quality)
    for await update in Defaults.updates(of: \.quality, options: .initial) { print(update.newValue) }
    try await Defaults.setIfAbsent(\.username) { await askForName() }
}

private func askForName() async -> String? { nil }

func signIn(as name: String) async throws {
    try await Defaults.transaction { settings in
        settings.username = name
        settings.unset(\.theme)
    }
}

func publish() async throws {
    try await Defaults.publishSchema {
        \.username
        \.launchCount
        \.volume
        \.theme
    }
}

func openSettings() -> DefaultsAdapter<DefaultsKeys> {
    DefaultsAdapter(
        suite: "com.my.app", keyStore: DefaultsKeys(), token: .file("/run/secrets/settings-token"), writes: .confirmed)
}

func connectLogger() {
    DefaultsLog.default = DefaultsLog { level, message, metadata in
        print("[\(level.rawValue)] \(message)", metadata["suite"] ?? "")
    }
}

func printIssues() async {
    for await issue in Defaults.issues {
        print(issue.key ?? "the suite", issue.error)
    }
}

extension DefaultsKeys {
    var isCopied: DefaultsKey<Bool> { .init("isCopied", defaultValue: false) }
}

func copy(from old: UserDefaults, into settings: DefaultsAdapter<DefaultsKeys>) async throws {
    try await settings.transaction { settings in
        guard !settings.isCopied else { return }
        if let name = old.string(forKey: "username") { settings.username = name }
        if let volume = old.object(forKey: "volume") as? Double { settings.volume = min(max(volume, 0), 1) }
        settings.isCopied = true
    }
}

func copyName(from old: UserDefaults) {
    Defaults.username ?= old.string(forKey: "username")
}
