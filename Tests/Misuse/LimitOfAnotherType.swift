import SettingsModel

extension DefaultsKeys {
    // says: extra argument 'in' in call
    var name: DefaultsKey<String> { .init("name", defaultValue: "", in: 0...1) }
}
