// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsKeys

extension DefaultsKeys {
    // error: to closure result type 'Int'
    var timeout: DefaultsKey<Int> { .init("timeout", defaultValue: 30, migrating: .from(String.self) { $0 }) }
}
