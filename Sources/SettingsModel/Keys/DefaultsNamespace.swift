/// A type whose settings are named by an enumeration: the key `isUserLoggedIn` of the type `Account` is stored as
/// `Account.isUserLoggedIn`.
///
///     enum Account: DefaultsNamespace {
///         enum Key: String { case isUserLoggedIn, email }
///     }
///     Account.name(of: .isUserLoggedIn)    // "Account.isUserLoggedIn"
public protocol DefaultsNamespace {
    /// The names of the keys.
    associatedtype Key: RawRepresentable where Key.RawValue == String

    /// What the names begin with, without the dot. By default the name of the type.
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

/// The namespaces that are in use, each by one type: two types of one name in different modules would otherwise share
/// their settings without knowing.
public struct NamespaceRegistry: Sendable {
    /// Two types claim one namespace.
    public struct Conflict: Error, Hashable, Sendable, CustomStringConvertible {
        /// The namespace.
        public let namespace: String
        /// The type that has it.
        public let owner: String
        /// The type that wanted it too.
        public let claimant: String

        /// Who has it and what to do.
        public var description: String {
            "the namespace \(namespace) is \(owner)'s already; give \(claimant) another one (static var namespace)"
        }
    }

    private var owners: [UTF8Text: (id: ObjectIdentifier, name: String)] = [:]

    /// A registry without namespaces.
    public init() {}

    /// Gives a type its namespace. Throws if another type has it; the same type may ask again.
    public mutating func register<Namespace: DefaultsNamespace>(_ type: Namespace.Type) throws(Conflict) {
        let namespace = UTF8Text(Namespace.namespace)
        let name = String(reflecting: type)
        if let owner = owners[namespace], owner.id != ObjectIdentifier(type) {
            throw Conflict(namespace: namespace.string, owner: owner.name, claimant: name)
        }
        owners[namespace] = (ObjectIdentifier(type), name)
    }
}
