// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsClient

extension DefaultsKeys {
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
}

func store() {
    // error: cannot assign value of type 'String' to subscript of type 'Int'
    Defaults[\.launchCount] = "42"
}
