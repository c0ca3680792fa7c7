// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsClientCompatibility

extension DefaultsKeys {
    var username: DefaultsKey<String?> { .init("username") }
}

func askForName() async -> String { "" }

// `?=` stores a value if no value is stored. It evaluates its right side only if it needs the value.
func signIn() async {
    // error: 'async' call in an autoclosure that does not support concurrency
    Defaults.username ?= await askForName()
}
