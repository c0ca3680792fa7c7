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

/// What `Defaults.value` is where a key of that name is meant: nothing that could be used as one. Write `Defaults[\.value]`.
///
/// Without it, the compiler would complain about a method that lacks its arguments.
public struct KeyHiddenByMember: Sendable {
    fileprivate init() {}
}

extension KeyedAccess {
    /// Where a key of this name is meant, it is `[\.hasKey]`.
    @available(*, unavailable, message: "hasKey is a method; the key of this name is [\\.hasKey]")
    public var hasKey: KeyHiddenByMember {
        get { KeyHiddenByMember() }
        nonmutating set {}
    }

    /// Where a key of this name is meant, it is `[\.isSet]`.
    @available(*, unavailable, message: "isSet is a method; the key of this name is [\\.isSet]")
    public var isSet: KeyHiddenByMember {
        get { KeyHiddenByMember() }
        nonmutating set {}
    }

    /// Where a key of this name is meant, it is `[\.observe]`.
    @available(*, unavailable, message: "observe is a method; the key of this name is [\\.observe]")
    public var observe: KeyHiddenByMember {
        get { KeyHiddenByMember() }
        nonmutating set {}
    }

    /// Where a key of this name is meant, it is `[\.remove]`.
    @available(*, unavailable, message: "remove is a method; the key of this name is [\\.remove]")
    public var remove: KeyHiddenByMember {
        get { KeyHiddenByMember() }
        nonmutating set {}
    }

    /// Where a key of this name is meant, it is `[\.set]`.
    @available(*, unavailable, message: "set is a method; the key of this name is [\\.set]")
    public var set: KeyHiddenByMember {
        get { KeyHiddenByMember() }
        nonmutating set {}
    }

    /// Where a key of this name is meant, it is `[\.setIfAbsent]`.
    @available(*, unavailable, message: "setIfAbsent is a method; the key of this name is [\\.setIfAbsent]")
    public var setIfAbsent: KeyHiddenByMember {
        get { KeyHiddenByMember() }
        nonmutating set {}
    }

    /// Where a key of this name is meant, it is `[\.update]`.
    @available(*, unavailable, message: "update is a method; the key of this name is [\\.update]")
    public var update: KeyHiddenByMember {
        get { KeyHiddenByMember() }
        nonmutating set {}
    }

    /// Where a key of this name is meant, it is `[\.updates]`.
    @available(*, unavailable, message: "updates is a method; the key of this name is [\\.updates]")
    public var updates: KeyHiddenByMember {
        get { KeyHiddenByMember() }
        nonmutating set {}
    }

    /// Where a key of this name is meant, it is `[\.value]`.
    @available(*, unavailable, message: "value is a method; the key of this name is [\\.value]")
    public var value: KeyHiddenByMember {
        get { KeyHiddenByMember() }
        nonmutating set {}
    }
}
