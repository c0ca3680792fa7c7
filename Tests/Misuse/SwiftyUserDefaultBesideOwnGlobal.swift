// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsClientCompatibility

extension DefaultsKeys {
    var volume: DefaultsKey<Double> { .init("volume", defaultValue: 0.5) }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
let Defaults = DefaultsAdapter(suite: "com.example.app", keyStore: DefaultsKeys())

struct Player {
    // error: name the adapter: @SwiftyUserDefault(keyPath: \.name, in: Defaults)
    @SwiftyUserDefault(keyPath: \.volume) var volume
    @SwiftyUserDefault(keyPath: \.volume, in: Defaults) var named
}
