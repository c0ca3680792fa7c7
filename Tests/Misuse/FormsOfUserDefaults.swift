// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsClientCompatibility

extension DefaultsKeys {
    var username: DefaultsKey<String?> { .init("username") }
    var color: DefaultsKey<String> { .init("color", defaultValue: "red") }
    var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
}

struct Window {}

func misuse(_ key: DefaultsKey<Int>) {
    // error: assign instead: Defaults["name"] = value, or Defaults.name = value for a key
    Defaults.set("x", forKey: "k")
    // error: only a value whose type conforms to DefaultsSerializable can be stored
    Defaults["k"] = Window()
    // error: a key needs a label: Defaults[key: key]
    Defaults[key] = 1
    // error: a key needs a label: Defaults[key: key]
    let count = Defaults[key]
    // error: a key needs a label: hasKey(key: key)
    if Defaults.hasKey(key) {}
    // error: a key needs a label: remove(key: key)
    Defaults.remove(key)
    // error: write Defaults.hasKey("name") instead
    if Defaults["c"].exists {}
    // error: type 'KeyPath<DefaultsKeys, DefaultsKey<String>>' has no member 'color'
    Defaults[.color] = "red"
    // error: ++ adds 1 to a number; the value of this key is not a number
    Defaults[\.username]++
    print(count)
}

// Each line of this function must compile. With the compiler option of scripts/check-misuse, an expression that takes
// more than one second to compile is an error.
func use() {
    Defaults["k"] = "text"
    Defaults["k"] = 1
    Defaults["k"] = nil
    Defaults["list"] = ["a", 1]
    Defaults[\.launchCount]++
    let sum =
        (Defaults["a"].int ?? 0) + (Defaults["b"].int ?? 0) + (Defaults["c"].int ?? 0) + (Defaults["d"].int ?? 0)
        + (Defaults["e"].int ?? 0)
    let length =
        (Defaults["a"].double ?? 0.0) + (Defaults["b"].double ?? 0.0) + (Defaults["c"].double ?? 0.0)
        + (Defaults["d"].double ?? 0.0) + (Defaults["e"].double ?? 0.0)
    let text =
        (Defaults["a"].string ?? "") + (Defaults["b"].string ?? "") + (Defaults["c"].string ?? "")
        + (Defaults["d"].string ?? "") + (Defaults["e"].string ?? "")
    print(sum, length, text)
}
