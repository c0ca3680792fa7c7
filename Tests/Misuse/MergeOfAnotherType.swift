import SettingsKeys

extension DefaultsKeys {
    // says: only a number can be merged as a sum
    var name: DefaultsKey<String> { .init("name", defaultValue: "", merge: .sum) }
}
