// A test of compiler errors: the line after "// error: TEXT" must have an error with TEXT. Other lines must compile.
import SettingsClientCompatibility

// `?=` stores a value if no value is stored. Its left side must be a setting.
func name(_ name: String?) -> String? {
    var name = name
    // error: binary operator '?=' cannot be applied to operands of type 'String?' and 'String'
    name ?= "anonymous"
    return name
}
