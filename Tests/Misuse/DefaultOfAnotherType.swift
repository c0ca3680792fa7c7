import SettingsKeys

extension DefaultsKeys {
    // says: cannot convert value of type 'String' to expected argument type 'Int'
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: "none") }
}
