// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsKeys

extension DefaultsKeys {
    var username: DefaultsKey<String?> { .init("username") }
}

func schema() throws -> Schema {
    // error: has no member 'usrname'
    try Schema(of: DefaultsKeys.self) { \.usrname }
}
