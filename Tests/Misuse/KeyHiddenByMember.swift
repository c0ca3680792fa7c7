// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsClient

extension DefaultsKeys {
    var update: DefaultsKey<Int> { .init("update", defaultValue: 0) }
    var value: DefaultsKey<Int> { .init("value", defaultValue: 0) }
    var set: DefaultsKey<[String]> { .init("set", defaultValue: []) }
    var removeAll: DefaultsKey<Bool> { .init("removeAll", defaultValue: false) }
    var issues: DefaultsKey<Int> { .init("issues", defaultValue: 0) }
    var synchronize: DefaultsKey<Int> { .init("synchronize", defaultValue: 0) }
    var transaction: DefaultsKey<Int> { .init("transaction", defaultValue: 0) }
}

// The adapter has methods with these names, which hide the keys.
func hidden() {
    Defaults[\.update] += 1
    // error: to expected argument type 'Int'
    Defaults.update += 1
    // error: no exact matches in reference to instance method 'value'
    Defaults.value = 1
    // error: no 'value' candidates produce the expected contextual result type 'Int'
    let count: Int = Defaults.value
    // error: reference to member 'append' cannot be resolved without a contextual type
    Defaults.set.append("name")
    print(count)
}

// The adapter has members with these names, but the members do not hide the keys. Each line of this function must
// compile.
func notHidden() {
    Defaults.removeAll = true
    Defaults.issues += 1
    Defaults.synchronize += 1
    Defaults.transaction = Defaults.issues
    if Defaults.removeAll { Defaults.removeAll() }
}
