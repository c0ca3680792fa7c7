import SettingsKeys

extension DefaultsKeys {
    // error: a key that is not optional needs a defaultValue:, which is its value while nothing is stored
    var launchCount: DefaultsKey<Int> { .init("launchCount") }
}
