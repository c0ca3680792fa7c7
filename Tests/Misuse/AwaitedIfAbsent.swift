import SettingsClientCompatibility

extension DefaultsKeys {
    var username: DefaultsKey<String?> { .init("username") }
}

func askForName() async -> String { "" }

func signIn() async {
    // error: 'async' call in an autoclosure that does not support concurrency
    Defaults.username ?= await askForName()
}
