import Foundation
import SettingsClient
import SettingsClientCompatibility

// The code of the article "From user defaults to settings", word for word, where it is not that of the other articles: a
// test holds the two against each other.

func useSettings() {
    Defaults[\.launchCount] += 1
    Defaults.launchCount += 1
    Defaults[\.accounts].append(Account(name: "home", port: 993))
    Defaults.accounts[0].port = 143
    Defaults[key: DefaultsKey<String?>("color")] = "red"
    Defaults.username = nil
    Defaults[\.username] ?= "anonymous"
    Defaults[\.launchCount]++
    if Defaults.hasKey(\.theme) { Defaults.remove(\.theme) }
}

func useMore() -> DefaultsDisposable {
    Defaults["color"] = "red"
    Defaults["count"] += 1
    print(Defaults["color"].stringValue, Defaults["count"].int ?? 0)
    return Defaults.observe(\.theme) { update in
        print(update.oldValue as Any, update.newValue)
    }
}

struct ThemeView {
    @SwiftyUserDefault(keyPath: \.theme, in: Defaults, options: [.cached, .observed]) var theme
}

func tellIssues() async {
    for await issue in Defaults.issues {
        print(issue.key ?? "all of the suite", issue.error)
    }
}

func setVolume(to volume: Double) async {
    do {
        try await Defaults.set(\.volume, volume)
    } catch {
        print(error)  // player.volume must be at most 1.0, but is 11.0
    }
}

func connectLogger() {
    DefaultsLog.default = DefaultsLog { level, message, metadata in
        print("[\(level.rawValue)] \(message)", metadata["suite"] ?? "")
    }
}

func openSettings() -> DefaultsAdapter<DefaultsKeys> {
    DefaultsAdapter(suite: "com.my.app", keyStore: DefaultsKeys(), token: .file("/run/secrets/settings-token"))
}

func signIn(as name: String) async throws {
    try await Defaults.transaction { settings in
        settings.username = name
        settings.launchCount = 0
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

extension DefaultsKeys {
    var isTakenOver: DefaultsKey<Bool> { .init("isTakenOver", defaultValue: false) }
}

func takeOver(from old: UserDefaults, into settings: DefaultsAdapter<DefaultsKeys>) async throws {
    try await settings.transaction { settings in
        guard !settings.isTakenOver else { return }
        if let name = old.string(forKey: "username") { settings.username = name }
        if let volume = old.object(forKey: "volume") as? Double { settings.volume = min(max(volume, 0), 1) }
        settings.isTakenOver = true
    }
}

func takeNameOver(from old: UserDefaults) {
    Defaults.username ?= old.string(forKey: "username")
}
