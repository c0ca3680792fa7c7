// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsKeys

struct Account: Codable, DefaultsSerializable { var name: String }

extension DefaultsKeys {
    // error: droppingUnknown needs an array or a set of RawRepresentable elements
    var accounts: DefaultsKey<[Account]> { .init("accounts", defaultValue: [], elements: .droppingUnknown) }
    // error: droppingUnknown needs an array or a set of RawRepresentable elements
    var count: DefaultsKey<Int> { .init("count", defaultValue: 0, elements: .droppingUnknown) }
}
