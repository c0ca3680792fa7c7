import SettingsKeys

extension DefaultsKeys {
    // error: cannot convert value of type 'String' to expected argument type 'Int'
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: "none") }
}
