// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsClientCompatibility

// The operator `++` of SettingsClientCompatibility increments a setting, not a variable.
func next(_ number: Int) -> Int {
    var number = number
    // error: cannot convert value of type 'Int' to expected argument type 'UntypedSetting'
    number++
    return number
}
