import SettingsKeys

extension DefaultsKeys {
    var username: DefaultsKey<String?> { .init("username") }
}

func schema() throws -> Schema {
    // says: has no member 'usrname'
    try Schema(of: DefaultsKeys.self) { \.usrname }
}
