// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsKeys

struct Account: Codable, DefaultsSerializable { var name: String }

extension DefaultsKeys {
    // error: only an array or a set of raw values can have unknown elements
    var accounts: DefaultsKey<[Account]> { .init("accounts", defaultValue: [], elements: .droppingUnknown) }
    // error: only an array or a set of raw values can have unknown elements
    var count: DefaultsKey<Int> { .init("count", defaultValue: 0, elements: .droppingUnknown) }
}
