package import SettingsModel

/// A type that defines keys as properties.
///
/// Most programs extend ``DefaultsKeys``. To group keys, define a nested store with a prefix, and a property that
/// returns it:
///
///     struct PlayerKeys: DefaultsKeyStore {
///         static let prefix = "player"
///         var volume: DefaultsKey<Double> { .init(Self["volume"], defaultValue: 0.5, in: 0...1) }
///     }
///     extension DefaultsKeys {
///         var player: PlayerKeys { PlayerKeys() }       // \.player.volume is stored as player.volume
///     }
public protocol DefaultsKeyStore: Sendable {
    /// The prefix of the names of all keys in this store, without the dot. Empty for no prefix.
    static var prefix: String { get }

    /// Creates the store.
    init()
}

extension DefaultsKeyStore {
    /// No prefix.
    public static var prefix: String {
        ""
    }

    /// The full name of a key in this store: the prefix, a dot and the given name.
    public static subscript<Name: SettingName>(leaf: Name) -> String {
        prefix.isEmpty ? String(leaf) : "\(prefix).\(leaf)"
    }
}

/// A name of a setting: a literal, a `String` or a `Substring`.
///
/// Subscripts by name are generic over this type instead of taking a `String`. With a `String` overload, the compiler
/// would report a misspelt key path as a wrong argument of that overload. With the generic overload, it reports the
/// misspelt key path.
public typealias SettingName = StringProtocol & RangeReplaceableCollection & TextOutputStream & CustomReflectable

/// The keys of a program. Extend this type with the keys.
public struct DefaultsKeys: DefaultsKeyStore {
    /// Creates the store.
    public init() {}
}

/// Returns a message if a nested store lacks its own prefix. Without the prefix, its keys could have the same names as
/// other keys. Returns nil if the prefix is valid.
package func nestedStoreProblem(
    _ inner: any DefaultsKeyStore.Type, in outer: any DefaultsKeyStore.Type
) -> String? {
    let advice = "give it its own prefix, as in static let prefix = \"player\""
    if inner.prefix.isEmpty {
        return "the key store \(inner) within \(outer) has no prefix; \(advice)"
    }
    if UTF8Text(inner.prefix) == UTF8Text(outer.prefix) {
        return "the key store \(inner) has the same prefix \(inner.prefix) as \(outer), which contains it; \(advice)"
    }
    return nil
}

/// Returns a message if a nested store in a stored property lacks its own prefix, at any depth. Returns nil if all
/// prefixes are valid. Reflection does not find computed properties.
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
    /// Returns a message if the name of the key lacks the prefix of a nested store. Returns nil if the name is valid.
    ///
    /// A key path does not reveal the stores that it passes through, but the prefix of each nested store adds at least
    /// one part to the name. Therefore the method compares the number of parts with the length of the key path.
    fileprivate func prefixProblem(of name: String) -> String? {
        let outer = Store.prefix.utf8.isEmpty ? "" : Store.prefix + "."
        let rest = name.utf8.starts(with: outer.utf8) ? name.utf8.dropFirst(outer.utf8.count) : name.utf8[...]
        let parts = rest.count { $0 == UInt8(ascii: ".") } + 1
        guard parts < depth else { return nil }
        guard parts == 1 else {
            return """
                \(name) is the key of a store nested \(depth - 1) levels deep in \(Store.self), but its name has fewer parts \
                than its key path; begin the prefix of each store with the prefix of the store that contains it, as in \
                static let prefix = "player.equalizer"
                """
        }
        return """
            \(name) is the key of a store nested in \(Store.self), but its name lacks the prefix of the nested store; \
            give the nested store a prefix, as in static let prefix = "player", and name the key Self["volume"]
            """
    }
}

/// Returns the listed keys of a store. Throws if a nested store lacks its own prefix.
package func listedKeys<Store: DefaultsKeyStore>(
    _ list: [ListedKey<Store>], of store: Store
) throws(SchemaError) -> [any AnyDefaultsKey] {
    let keys = list.map { $0.key(of: store) }
    var problems: [SchemaError.Problem] = []
    for (listed, key) in zip(list, keys) {
        guard let problem = listed.prefixProblem(of: key.name) else { continue }
        problems.append(SchemaError.Problem(["properties", key.name], "properties", problem))
    }
    guard problems.isEmpty else { throw SchemaError(problems: problems) }
    return keys
}

/// The error that two types have the same namespace, which is the prefix of the names of a type's settings.
public struct NamespaceConflict: Error, Hashable, Sendable, CustomStringConvertible {
    package let namespace: String
    /// The type that registered the namespace.
    package let owner: String
    /// The other type.
    package let claimant: String

    /// The conflict in a sentence.
    public var description: String {
        "the namespace \(namespace) already belongs to \(owner); give \(claimant) another namespace (static var namespace)"
    }
}

/// Registers one type for each namespace, so that two types with the same name in different modules do not share their
/// settings.
package struct NamespaceRegistry: Sendable {
    private var owners: [(namespace: String, type: any Any.Type)] = []

    package init() {}

    /// Registers a type. Throws if another type has the namespace. Does nothing if the type is already registered.
    package mutating func register(_ namespace: String, of type: any Any.Type) throws(NamespaceConflict) {
        guard let owner = owners.first(where: { $0.namespace.hasSameBytes(as: namespace) }) else {
            owners.append((namespace, type))
            return
        }
        if owner.type == type { return }
        throw NamespaceConflict(
            namespace: namespace, owner: String(reflecting: owner.type), claimant: String(reflecting: type))
    }
}
