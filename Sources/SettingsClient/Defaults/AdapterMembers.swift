package import SettingsModel

/// The members of adapters and scopes (``DefaultsScope``) that hide keys of the same name. `Defaults.value` is a method
/// even if there is a key `value`. `Defaults[\.value]` is the key.
///
/// Other members, such as `removeAll` and `issues`, hide no key. If a key has the name of such a member, the compiler
/// chooses between the member and the key by the type that the expression needs.
package enum AdapterMembers {
    /// The names of the members, in alphabetical order.
    package static let names = [
        "hasKey", "isSet", "observe", "remove", "set", "setIfAbsent", "update", "updates", "value",
    ]
}

extension Schema {
    /// The names of the schema's keys that are also names of adapter members. If the property that defines the key has
    /// the same name as the key, `Defaults.NAME` is the member and not the key.
    package var keysShadowedByAdapter: [String] {
        AdapterMembers.names.filter { lists($0) }
    }
}
