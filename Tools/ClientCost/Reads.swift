import ClientCostKeys
import SettingsClient

/// The settings that are read, as a program has them: one global.
let Defaults = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())

/// One way to read a setting. Each is a function of its own that is not inlined, so that nothing of a read is shared
/// with the next, or moved out of the loop around it.
struct Read: Sendable {
    let name: String
    let body: @Sendable () -> Int

    static let all = [
        Read(name: "Defaults[\\.launchCount]", body: countByPath),
        Read(name: "Defaults.launchCount", body: countAsMember),
        Read(name: "Defaults[\\.volume], limits", body: volumeByPath),
        Read(name: "Defaults.theme, enum", body: themeAsMember),
        Read(name: "Defaults[\\.username], String?", body: usernameByPath),
        Read(name: "Defaults.nickname, limits", body: nicknameAsMember),
        Read(name: "Defaults[\\.libraries], array", body: librariesByPath),
        Read(name: "Defaults[\\.window], Codable", body: windowByPath),
        Read(name: "Defaults.player.volume, limits", body: nestedVolume),
        Read(name: "Defaults.player.equalizer.bass", body: nestedBass),
        Read(name: "Defaults[\\.player.equalizer.bands]", body: bandsByPath),
        Read(name: "[key:]", body: countByKey),
        Read(name: "[key:], limits", body: volumeByKey),
        Read(name: "[key:], length and pattern", body: nicknameByKey),
        Read(name: "[key:], allowed values", body: modeByKey),
        Read(name: "[key:], long name", body: bassByKey),
        Read(name: "[key:], made for the read", body: countByFreshKey),
        Read(name: "[key:], made for the read, limits", body: volumeByFreshKey),
    ]

    /// Stores what is read. Text and elements are too long to stand within a string.
    static func prepare() {
        Defaults.launchCount = 42
        Defaults.volume = 0.75
        Defaults.username = "somebody with a rather long name"
        Defaults.nickname = "somebody with a nickname of words"
        Defaults.theme = .dark
        Defaults.libraries = ["one library of the program", "another library of the program"]
        Defaults.window = Window(title: "The window of the program", width: 1280, height: 800)
        Defaults.player.volume = 0.25
        Defaults.player.equalizer.bass = -3
        Defaults.player.equalizer.bands = [1, 2, 3]
        Defaults[key: LooseKeys.mode] = "shuffle"
    }
}

@inline(never) private func countByPath() -> Int { Defaults[\.launchCount] }
@inline(never) private func countAsMember() -> Int { Defaults.launchCount }
@inline(never) private func volumeByPath() -> Int { Int(Defaults[\.volume] * 4) }
@inline(never) private func themeAsMember() -> Int { Defaults.theme == .dark ? 1 : 0 }
@inline(never) private func usernameByPath() -> Int { Defaults[\.username]?.utf8.count ?? 0 }
@inline(never) private func nicknameAsMember() -> Int { Defaults.nickname.utf8.count }
@inline(never) private func librariesByPath() -> Int { Defaults[\.libraries].count }
@inline(never) private func windowByPath() -> Int { Defaults[\.window]?.width ?? 0 }
@inline(never) private func nestedVolume() -> Int { Int(Defaults.player.volume * 4) }
@inline(never) private func nestedBass() -> Int { Defaults.player.equalizer.bass }
@inline(never) private func bandsByPath() -> Int { Defaults[\.player.equalizer.bands].count }
@inline(never) private func countByKey() -> Int { Defaults[key: LooseKeys.launchCount] }
@inline(never) private func volumeByKey() -> Int { Int(Defaults[key: LooseKeys.volume] * 4) }
@inline(never) private func nicknameByKey() -> Int { Defaults[key: LooseKeys.nickname].utf8.count }
@inline(never) private func modeByKey() -> Int { Defaults[key: LooseKeys.mode].utf8.count }
@inline(never) private func bassByKey() -> Int { Defaults[key: LooseKeys.bass] }
@inline(never) private func countByFreshKey() -> Int { Defaults[key: DefaultsKeys().launchCount] }
@inline(never) private func volumeByFreshKey() -> Int { Int(Defaults[key: DefaultsKeys().volume] * 4) }
