// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsKeys

extension DefaultsKeys {
    // error: in: needs a range of the same number type as the key; limit text with maxLength: or matching:
    var name: DefaultsKey<String> { .init("name", defaultValue: "", in: 1...2) }
    // error: in: needs a range of the same number type as the key; limit text with maxLength: or matching:
    var nickname: DefaultsKey<String?> { .init("nickname", in: 1...2) }
    // error: in: needs a range of the same number type as the key; limit text with maxLength: or matching:
    var label: DefaultsKey<String> { .init("label", defaultValue: "", in: "a"..."z", secret: true) }
    // error: in: needs a range of the same number type as the key
    var flag: DefaultsKey<Bool> { .init("flag", defaultValue: false, in: 0...1) }
    // error: in: needs a range of the same number type as the key
    var ratio: DefaultsKey<Int> { .init("ratio", defaultValue: 0, in: 0.5...1.5) }
    // error: maxLength: limits text; limit numbers with in:
    var count: DefaultsKey<Int> { .init("count", defaultValue: 0, maxLength: 3) }
    // error: matching: limits text; limit numbers with in:
    var code: DefaultsKey<Int?> { .init("code", matching: "^[0-9]{4}$") }
}
