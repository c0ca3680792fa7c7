import SettingsKeys

extension DefaultsKeys {
    // says: reference to initializer 'init(_:defaultValue:in:description:secret:renamedFrom:merge:)' requires
    var name: DefaultsKey<String> { .init("name", defaultValue: "", in: 0...1) }
}
