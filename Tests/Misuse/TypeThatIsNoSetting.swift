// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsKeys

struct Window {}

extension DefaultsKeys {
    // error: does not conform to protocol 'DefaultsSerializable'
    var window: DefaultsKey<Window?> { .init("window") }
}
