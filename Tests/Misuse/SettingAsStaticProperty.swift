// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsClient

extension DefaultsKeys {
    var volume: DefaultsKey<Double> { .init("volume", defaultValue: 0.5) }
}

enum Shared {
    // error: static property 'volume' is not concurrency-safe
    @Setting(\.volume, in: Defaults) static var volume
}
