import SettingsKeys

extension DefaultsKeys {
    // says: in: must be a range of the key's numbers; limit text with maxLength: or matching:
    var name: DefaultsKey<String> { .init("name", defaultValue: "", in: 1...2) }
    // says: in: must be a range of the key's numbers; limit text with maxLength: or matching:
    var nickname: DefaultsKey<String?> { .init("nickname", in: 1...2) }
    // says: in: must be a range of the key's numbers; limit text with maxLength: or matching:
    var label: DefaultsKey<String> { .init("label", defaultValue: "", in: "a"..."z", secret: true) }
    // says: in: must be a range of the key's numbers
    var flag: DefaultsKey<Bool> { .init("flag", defaultValue: false, in: 0...1) }
    // says: in: must be a range of the key's numbers
    var ratio: DefaultsKey<Int> { .init("ratio", defaultValue: 0, in: 0.5...1.5) }
    // says: maxLength: limits text; limit numbers with in:
    var count: DefaultsKey<Int> { .init("count", defaultValue: 0, maxLength: 3) }
    // says: matching: limits text; limit numbers with in:
    var code: DefaultsKey<Int?> { .init("code", matching: "^[0-9]{4}$") }
}
