/// A place where keys are defined, as properties.
///
/// The ready-made one is ``DefaultsKeys``; a namespace is another one with a prefix, reached through a property:
///
///     struct PlayerKeys: DefaultsKeyStore {
///         static let prefix = "player"
///         var volume: DefaultsKey<Double> { .init(Self["volume"], defaultValue: 0.5, in: 0...1) }
///     }
///     extension DefaultsKeys {
///         var player: PlayerKeys { PlayerKeys() }       // \.player.volume is stored as player.volume
///     }
public protocol DefaultsKeyStore: Sendable {
    /// What the names of all keys in this store begin with, without the dot; empty for none.
    static var prefix: String { get }

    /// The store. It holds nothing but keys, so making one is free.
    init()
}

extension DefaultsKeyStore {
    /// No prefix.
    public static var prefix: String {
        ""
    }

    /// The full name of a key in this store: after the prefix and a dot.
    public static subscript<Name: SettingName>(leaf: Name) -> String {
        prefix.isEmpty ? String(leaf) : "\(prefix).\(leaf)"
    }
}

/// Text of any kind, as a name: a literal, a `String`, a `Substring`.
///
/// Access by such names stands beside access by key path. Of a key path with a typo the compiler reports what is wrong
/// with the overload that it finds nearest, and an overload that only wants a `String` is nearer than the right one. So it
/// wants more.
public typealias SettingName = StringProtocol & RangeReplaceableCollection & TextOutputStream & CustomReflectable

/// The keys of a program: extend it with them.
public struct DefaultsKeys: DefaultsKeyStore {
    /// The store.
    public init() {}
}

// A store within another needs a prefix of its own: without one its keys are stored under the names of other keys.

/// Says what is wrong with the prefix of a store within another; nil if nothing is.
package func nestedStoreProblem(
    _ inner: any DefaultsKeyStore.Type, in outer: any DefaultsKeyStore.Type
) -> String? {
    let advice = "give it one of its own, as in static let prefix = \"player\""
    if inner.prefix.isEmpty {
        return "the key store \(inner) within \(outer) has no prefix; \(advice)"
    }
    if UTF8Text(inner.prefix) == UTF8Text(outer.prefix) {
        return "the key store \(inner) has the prefix \(inner.prefix) of \(outer), which it is within; \(advice)"
    }
    return nil
}

/// The same for all stores that a store holds in stored properties, and those within them. Computed ones are not found.
package func nestedStoreProblem(in store: some DefaultsKeyStore) -> String? {
    for child in Mirror(reflecting: store).children {
        guard let inner = child.value as? any DefaultsKeyStore else { continue }
        if let problem = nestedStoreProblem(type(of: inner), in: type(of: store)) ?? nestedStoreProblem(in: inner) {
            return problem
        }
    }
    return nil
}

extension ListedKey where Store: DefaultsKeyStore {
    /// Says why the name is not that of a key so deep within the store; nil if it is. A path does not tell the stores that
    /// it leads through, but each of them adds a part to the names.
    fileprivate func problem(of name: String) -> String? {
        let outer = Store.prefix.utf8.isEmpty ? "" : Store.prefix + "."
        let rest = name.utf8.starts(with: outer.utf8) ? name.utf8.dropFirst(outer.utf8.count) : name.utf8[...]
        let parts = rest.count { $0 == UInt8(ascii: ".") } + 1
        guard parts < depth else { return nil }
        guard parts == 1 else {
            return """
                \(name) is a key \(depth - 1) stores deep within \(Store.self), but its name has no part for each of them; \
                let the prefix of each store begin with that of the store around it, as in \
                static let prefix = "player.equalizer"
                """
        }
        return """
            \(name) is a key of a store within \(Store.self), but lacks that store's prefix; give the store one of its own, \
            as in static let prefix = "player", and name the key Self["volume"]
            """
    }
}

/// The keys of a list as an instance of the store has them. Throws if a store within it lacks a prefix of its own.
package func listedKeys<Store: DefaultsKeyStore>(
    _ list: [ListedKey<Store>], of store: Store
) throws(SchemaError) -> [any AnyDefaultsKey] {
    let keys = list.map { $0.key(of: store) }
    var problems: [SchemaError.Problem] = []
    for (listed, key) in zip(list, keys) {
        guard let problem = listed.problem(of: key.name) else { continue }
        problems.append(SchemaError.Problem(["properties", key.name], "properties", problem))
    }
    guard problems.isEmpty else { throw SchemaError(problems: problems) }
    return keys
}
