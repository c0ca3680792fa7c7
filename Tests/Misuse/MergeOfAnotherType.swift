// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsKeys

extension DefaultsKeys {
    // error: only a number can be merged as a sum
    var name: DefaultsKey<String> { .init("name", defaultValue: "", merge: .sum) }
}
