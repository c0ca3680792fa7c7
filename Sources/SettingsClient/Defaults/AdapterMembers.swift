package import SettingsModel

/// The members that adapters and scopes have for keys, which hide keys of the same name: `Defaults.value` is a method
/// whatever keys there are, `Defaults[\.value]` the key.
///
/// Other members of an adapter, such as `removeAll` and `issues`, hide nothing: where a key of that name is meant, the key
/// is taken.
package enum AdapterMembers {
    /// Their names, in the order of the alphabet.
    package static let names = [
        "hasKey", "isSet", "observe", "remove", "set", "setIfAbsent", "update", "updates", "value",
    ]
}

extension Schema {
    /// The keys that `Defaults.name` does not reach, if their properties have the name under which they are stored:
    /// adapters have members of these names.
    package var keysShadowedByAdapter: [String] {
        AdapterMembers.names.filter { lists($0) }
    }
}
