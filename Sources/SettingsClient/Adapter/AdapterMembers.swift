public import SettingsModel

/// The members of ``DefaultsAdapter``, which win over keys of the same name: `Defaults.value` is a method whatever keys
/// there are, `Defaults[\.value]` the key.
public enum AdapterMembers {
    /// Their names, in the order of the alphabet.
    public static let names = [
        "checkSchema", "hasKey", "isSet", "issues", "namespace", "observe", "publishSchema", "register", "remove",
        "removeAll", "set", "setIfAbsent", "synchronize", "transaction", "update", "updates", "value",
    ]
}

extension Schema {
    /// The keys that `Defaults.name` does not reach, if their properties have the name under which they are stored: the
    /// adapter has members of these names.
    public var keysShadowedByAdapter: [String] {
        AdapterMembers.names.filter { lists($0) }
    }
}
