import SettingsKeys

extension DefaultsKeys {
    // error: only a number can be merged as a sum
    var name: DefaultsKey<String> { .init("name", defaultValue: "", merge: .sum) }
}
