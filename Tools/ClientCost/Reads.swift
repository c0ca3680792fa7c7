import ClientCostKeys
import SettingsClient
import SettingsClientTesting

// The name has a capital letter, as in the programs of users.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The settings that the measurements read: one global variable, as in the programs of users.
let Defaults = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())

/// One way to read a setting. Each way is a function that is not inlined, so that the optimizer neither shares work
/// between reads nor moves work out of the loop.
struct Read: Sendable {
    let name: String
    /// True if the value, or a part of it, has a reference count, which each read changes.
    var isCounted = false
    let body: @Sendable () -> Int

    static let all = [
        Read(name: "Defaults[\\.launchCount]", body: countByPath),
        Read(name: "Defaults.launchCount", body: countAsMember),
        Read(name: "Defaults[\\.volume], limits", body: volumeByPath),
        Read(name: "Defaults.theme, enum", body: themeAsMember),
        Read(name: "Defaults[\\.username], String?", isCounted: true, body: usernameByPath),
        Read(name: "Defaults.nickname, limits", isCounted: true, body: nicknameAsMember),
        Read(name: "Defaults[\\.libraries], array", isCounted: true, body: librariesByPath),
        Read(name: "Defaults[\\.window], Codable", isCounted: true, body: windowByPath),
        Read(name: "Defaults.player.volume, limits", body: nestedVolume),
        Read(name: "Defaults.player.equalizer.bass", body: nestedBass),
        Read(name: "Defaults[\\.player.equalizer.bands]", isCounted: true, body: bandsByPath),
        Read(name: "[key:]", body: countByKey),
        Read(name: "[key:], limits", body: volumeByKey),
        Read(name: "[key:], length and pattern", isCounted: true, body: nicknameByKey),
        Read(name: "[key:], allowed values", body: modeByKey),
        Read(name: "[key:], long name", body: bassByKey),
        Read(name: "[key:], constructed for the read", body: countByConstructedKey),
        Read(name: "[key:], constructed for the read, limits", body: volumeByConstructedKey),
        Read(name: "Setting.value", body: countBySetting),
        Read(name: "a variable of the program", isCounted: true, body: variable),
    ]

    /// Stores the values that are read. The texts of `username`, `nickname` and `window` are built at run time, and are
    /// too long to be stored inside a `String`, because literals and short texts have no reference count.
    static func storeValues() {
        let number = CommandLine.arguments.count
        Defaults.launchCount = 42
        Defaults.volume = 0.75
        Defaults.username = "somebody with a rather long name, number \(number)"
        Defaults.nickname = "somebody with a nickname of words" + String(repeating: " and more", count: number)
        Defaults.theme = .dark
        Defaults.libraries = ["one library of the program", "another library of the program"]
        Defaults.window = Window(title: "The window of the program, number \(number)", width: 1280, height: 800)
        Defaults.player.volume = 0.25
        Defaults.player.equalizer.bass = -3
        Defaults.player.equalizer.bands = [1, 2, 3]
        Defaults[key: LooseKeys.mode] = "shuffle"
    }
}

/// Passes a value that was read to a function that is not inlined, so that the reader retains the value for the
/// duration of a call.
@inline(never) private func use<Value>(_ value: Value) -> Int { MemoryLayout.size(ofValue: value) }

private let countSetting = Setting(\.launchCount, in: Defaults)

/// An array variable, which is the baseline for reads of settings. The read calls a closure in an array. Otherwise the
/// optimizer would remove the reference counting.
private let list = Array(1...CommandLine.arguments.count)
private let listReaders: [@Sendable () -> [Int]] = CommandLine.arguments.map { _ in { list } }

// Each function reads a setting, or the baseline `list`, and returns an integer for the sum of `ReadTiming`.
@inline(never) private func countBySetting() -> Int { countSetting.value }
@inline(never) private func variable() -> Int { use(listReaders[0]()) }
@inline(never) private func countByPath() -> Int { Defaults[\.launchCount] }
@inline(never) private func countAsMember() -> Int { Defaults.launchCount }
@inline(never) private func volumeByPath() -> Int { Int(Defaults[\.volume] * 4) }
@inline(never) private func themeAsMember() -> Int { Defaults.theme == .dark ? 1 : 0 }
@inline(never) private func usernameByPath() -> Int { use(Defaults[\.username]) }
@inline(never) private func nicknameAsMember() -> Int { use(Defaults.nickname) }
@inline(never) private func librariesByPath() -> Int { use(Defaults[\.libraries]) }
@inline(never) private func windowByPath() -> Int { use(Defaults[\.window]) }
@inline(never) private func nestedVolume() -> Int { Int(Defaults.player.volume * 4) }
@inline(never) private func nestedBass() -> Int { Defaults.player.equalizer.bass }
@inline(never) private func bandsByPath() -> Int { use(Defaults[\.player.equalizer.bands]) }
@inline(never) private func countByKey() -> Int { Defaults[key: LooseKeys.launchCount] }
@inline(never) private func volumeByKey() -> Int { Int(Defaults[key: LooseKeys.volume] * 4) }
@inline(never) private func nicknameByKey() -> Int { use(Defaults[key: LooseKeys.nickname]) }
@inline(never) private func modeByKey() -> Int { use(Defaults[key: LooseKeys.mode]) }
@inline(never) private func bassByKey() -> Int { Defaults[key: LooseKeys.bass] }
@inline(never) private func countByConstructedKey() -> Int { Defaults[key: DefaultsKeys().launchCount] }
@inline(never) private func volumeByConstructedKey() -> Int { Int(Defaults[key: DefaultsKeys().volume] * 4) }
