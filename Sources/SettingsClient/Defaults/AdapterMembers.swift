package import SettingsModel

/// The members of adapters and scopes that hide keys of the same name. `Defaults.value` is a method even if there is a
/// key `value`. `Defaults[\.value]` is the key.
///
/// Other members, such as `removeAll` and `issues`, hide no key. For these names the compiler chooses the value of the
/// key if only that has the type that the expression needs.
package enum AdapterMembers {
    /// The names in alphabetical order.
    package static let names = [
        "hasKey", "isSet", "observe", "remove", "set", "setIfAbsent", "update", "updates", "value",
    ]
}

extension Schema {
    /// The keys of the schema that have the name of a member of an adapter. If the property of the key has this name,
    /// too, `Defaults.name` is the member and not the key.
    package var keysShadowedByAdapter: [String] {
        AdapterMembers.names.filter { lists($0) }
    }
}
