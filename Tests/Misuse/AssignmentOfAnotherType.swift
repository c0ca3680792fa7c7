import SettingsClient

extension DefaultsKeys {
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
}

func store() {
    // error: cannot assign value of type 'String' to subscript of type 'Int'
    Defaults[\.launchCount] = "42"
}
