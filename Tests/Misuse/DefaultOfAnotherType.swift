// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsKeys

extension DefaultsKeys {
    // error: cannot convert value of type 'String' to expected argument type 'Int'
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: "none") }
}
