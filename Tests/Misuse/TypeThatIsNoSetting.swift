import SettingsKeys

struct Window {}

extension DefaultsKeys {
    // says: does not conform to protocol 'DefaultsSerializable'
    var window: DefaultsKey<Window?> { .init("window") }
}
