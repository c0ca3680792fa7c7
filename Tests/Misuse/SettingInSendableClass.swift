import SettingsClient

extension DefaultsKeys {
    var volume: DefaultsKey<Double> { .init("volume", defaultValue: 0.5) }
}

final class Model: Sendable {
    // error: stored property '_volume' of 'Sendable'-conforming class 'Model' is mutable
    @Setting(\.volume, in: Defaults) var volume
}
