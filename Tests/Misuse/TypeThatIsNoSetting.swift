import SettingsKeys

struct Window {}

extension DefaultsKeys {
    // error: does not conform to protocol 'DefaultsSerializable'
    var window: DefaultsKey<Window?> { .init("window") }
}
