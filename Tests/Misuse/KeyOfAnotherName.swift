import SettingsClient

extension DefaultsKeys {
    var username: DefaultsKey<String?> { .init("username") }
}

func name() {
    // error: has no dynamic member 'usrname'
    _ = Defaults.usrname
}
