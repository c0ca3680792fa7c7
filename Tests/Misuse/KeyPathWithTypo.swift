// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsClientCompatibility

struct PlayerKeys: DefaultsKeyStore {
    static let prefix = "player"
    var volume: DefaultsKey<Double> { .init(Self["volume"], defaultValue: 0.5) }
}

extension DefaultsKeys {
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
    var player: PlayerKeys { PlayerKeys() }
}

struct Model {
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    @Setting(\.lanchCount, in: Defaults) var inAdapter
    // error: value of type 'PlayerKeys' has no member 'volme'
    @Setting(\.volme, in: Defaults.player) var inScope
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    @SwiftyUserDefault(keyPath: \.lanchCount, in: Defaults) var keyPath
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    let constant = Setting(\.lanchCount, in: Defaults)
}

func access() {
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    _ = Defaults[\.lanchCount]
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    let count: Int = Defaults[\.lanchCount]
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    Defaults[\.lanchCount] = count
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    Defaults[\.lanchCount] += 1
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    Defaults[\.lanchCount] ?= 1
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    Defaults[\.lanchCount]++
    // error: value of type 'PlayerKeys' has no member 'volme'
    Defaults[\.player.volme] = 1
    // error: no dynamic member 'volme' using key path from root type 'PlayerKeys'
    Defaults.player.volme = 1
}

func members() {
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    _ = Defaults.hasKey(\.lanchCount)
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    if Defaults.isSet(\.lanchCount) {}
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    Defaults.remove(\.lanchCount)
    // error: value of type 'PlayerKeys' has no member 'volme'
    _ = Defaults.player.hasKey(\.volme)
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    let observation = Defaults.observe(\.lanchCount) { print($0.newValue) }
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    let both = Defaults.observe(\.launchCount, \.lanchCount) { print($0.key) }
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    let updates = Defaults.updates(of: \.lanchCount)
    print(observation, both, updates)
}

func asynchronous() async throws {
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    let count = try await Defaults.value(\.lanchCount)
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    let again: Int = try await Defaults.value(\.lanchCount)
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    try await Defaults.set(\.lanchCount, 1)
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    try await Defaults.update(\.lanchCount) { $0 += 1 }
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    try await Defaults.setIfAbsent(\.lanchCount) { 1 }
    // error: value of type 'DefaultsKeys' has no member 'lanchCount'
    for await update in Defaults.updates(of: \.lanchCount) { print(update) }
    print(count, again)
}
