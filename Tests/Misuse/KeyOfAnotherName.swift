import SettingsClient

extension DefaultsKeys {
    var username: DefaultsKey<String?> { .init("username") }
}

func name() {
    // says: has no dynamic member 'usrname'
    _ = Defaults.usrname
}
