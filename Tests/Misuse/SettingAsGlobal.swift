// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsClient

extension DefaultsKeys {
    var volume: DefaultsKey<Double> { .init("volume", defaultValue: 0.5) }
}

// error: property wrappers are not yet supported in top-level code
@Setting(\.volume, in: Defaults) var volume
