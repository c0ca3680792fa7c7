// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsKeys

extension DefaultsKeys {
    // error: a key that is not optional needs a defaultValue:, which is its value while nothing is stored
    var launchCount: DefaultsKey<Int> { .init("launchCount") }
}
