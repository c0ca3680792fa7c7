// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsClient

extension DefaultsKeys {
    var volume: DefaultsKey<Double> { .init("volume", defaultValue: 0.5) }
}

final class Model: Sendable {
    // error: stored property '_volume' of 'Sendable'-conforming class 'Model' is mutable
    @Setting(\.volume, in: Defaults) var volume
}
