// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsClient

extension DefaultsKeys {
    var username: DefaultsKey<String?> { .init("username") }
}

func name() {
    // error: has no dynamic member 'usrname'
    _ = Defaults.usrname
}
