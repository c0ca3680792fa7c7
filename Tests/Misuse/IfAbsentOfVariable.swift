import SettingsClientCompatibility

func name(_ name: String?) -> String? {
    var name = name
    // error: binary operator '?=' cannot be applied to operands of type 'String?' and 'String'
    name ?= "anonymous"
    return name
}
