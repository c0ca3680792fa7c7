import SettingsClient

extension DefaultsKeys {
    var update: DefaultsKey<Int> { .init("update", defaultValue: 0) }
    var value: DefaultsKey<Int> { .init("value", defaultValue: 0) }
    var set: DefaultsKey<[String]> { .init("set", defaultValue: []) }
    var remove: DefaultsKey<Bool> { .init("remove", defaultValue: false) }
    var removeAll: DefaultsKey<Bool> { .init("removeAll", defaultValue: false) }
    var issues: DefaultsKey<Int> { .init("issues", defaultValue: 0) }
    var synchronize: DefaultsKey<Int> { .init("synchronize", defaultValue: 0) }
    var transaction: DefaultsKey<Int> { .init("transaction", defaultValue: 0) }
}

func hidden() {
    Defaults[\.update] += 1
    // says: binary operator '+=' cannot be applied to operands of type 'KeyHiddenByMember' and 'Int'
    Defaults.update += 1
    // says: cannot assign value of type 'Int' to type 'KeyHiddenByMember'
    Defaults.value = 1
    // says: cannot convert value of type 'KeyHiddenByMember' to specified type 'Int'
    let count: Int = Defaults.value
    // says: 'value' is unavailable: value is a method; the key of this name is [\.value]
    print(Defaults.value)
    // says: value of type 'KeyHiddenByMember' has no member 'append'
    Defaults.set.append("name")
    // says: cannot convert value of type 'KeyHiddenByMember' to expected condition type 'Bool'
    if Defaults.remove {}
    print(count)
}

// These hide nothing: no message may name a line of this function.
func notHidden() {
    Defaults.removeAll = true
    Defaults.issues += 1
    Defaults.synchronize += 1
    Defaults.transaction = Defaults.issues
    if Defaults.removeAll { Defaults.removeAll() }
}
