package import SettingsModel

/// The members of adapters and scopes that hide keys of the same name: `Defaults.value` is a method even if there is a
/// key `value`. `Defaults[\.value]` is the key.
///
/// Other members, such as `removeAll` and `issues`, hide no key: the compiler takes the key where a key fits.
package enum AdapterMembers {
    /// The names in alphabetical order.
    package static let names = [
        "hasKey", "isSet", "observe", "remove", "set", "setIfAbsent", "update", "updates", "value",
    ]
}

extension Schema {
    /// The keys whose names are members of an adapter. If the property of such a key has the name of the key,
    /// `Defaults.name` does not reach the key.
    package var keysShadowedByAdapter: [String] {
        AdapterMembers.names.filter { lists($0) }
    }
}
