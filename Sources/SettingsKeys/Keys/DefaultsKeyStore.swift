package import SettingsModel

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
    /// The beginning of the names of all keys in this store, without the dot; empty for none.
    static var prefix: String { get }

    /// Makes the store.
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
/// Subscripts by name ask for this instead of `String`: for a misspelt key path the compiler reports the nearest
/// overload, and one that takes a `String` would be nearer than the one by key path.
public typealias SettingName = StringProtocol & RangeReplaceableCollection & TextOutputStream & CustomReflectable

/// The keys of a program: extend it with them.
public struct DefaultsKeys: DefaultsKeyStore {
    /// Makes the store.
    public init() {}
}

/// Describes what is wrong with the prefix of a store within another; nil if nothing is. Without a prefix of its own
/// its keys would be stored under the names of other keys.
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

/// Checks all stores in stored properties of a store, and those within them. Computed properties are not found.
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
    /// Describes why the name is not that of a key so deep within the store; nil if it is. A path does not name the
    /// stores that it leads through, but each of them adds a part to the names.
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

/// A type that names its settings by an enumeration: the key `isUserLoggedIn` of the type `Account` is stored as
/// `Account.isUserLoggedIn`.
///
///     enum Account: DefaultsNamespace {
///         enum Key: String { case isUserLoggedIn, email }
///     }
///     Account.name(of: .isUserLoggedIn)    // "Account.isUserLoggedIn"
public protocol DefaultsNamespace {
    /// The names of the keys.
    associatedtype Key: RawRepresentable where Key.RawValue == String

    /// The beginning of the names, without the dot. By default the name of the type.
    static var namespace: String { get }
}

extension DefaultsNamespace {
    /// The name of the type, without the types and the module around it.
    public static var namespace: String {
        String(describing: Self.self)
    }

    /// The name under which a key is stored.
    public static func name(of key: Key) -> String {
        "\(namespace).\(key.rawValue)"
    }
}

/// An error about two types that claim one namespace.
public struct NamespaceConflict: Error, Hashable, Sendable, CustomStringConvertible {
    package let namespace: String
    /// The type that registered the namespace.
    package let owner: String
    /// The other type.
    package let claimant: String

    /// The conflict in a sentence.
    public var description: String {
        "the namespace \(namespace) is \(owner)'s already; give \(claimant) another one (static var namespace)"
    }
}

/// A registry that gives each namespace to one type. Otherwise two types of one name in different modules would share
/// their settings.
package struct NamespaceRegistry: Sendable {
    private var owners: [(namespace: String, type: any Any.Type)] = []

    /// Makes a registry without namespaces.
    package init() {}

    /// Registers a type. Throws if another type has the namespace; the same type may ask again.
    package mutating func register<Namespace: DefaultsNamespace>(_ type: Namespace.Type) throws(NamespaceConflict) {
        let namespace = Namespace.namespace
        guard let owner = owners.first(where: { $0.namespace.hasSameBytes(as: namespace) }) else {
            owners.append((namespace, type))
            return
        }
        if owner.type == type { return }
        throw NamespaceConflict(
            namespace: namespace, owner: String(reflecting: owner.type), claimant: String(reflecting: type))
    }
}
