import SettingsClient

extension DefaultsKeys {
    var update: DefaultsKey<Int> { .init("update", defaultValue: 0) }
}

func count() {
    Defaults[\.update] += 1
    // says: binary operator '+=' cannot be applied to operands of type
    Defaults.update += 1
}
