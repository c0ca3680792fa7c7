public import Foundation
public import SettingsClient
public import SettingsKeys

/// A type with an enumeration of its settings. The case `isUserLoggedIn` of the type `Account` is stored as
/// `Account.isUserLoggedIn`.
///
///     enum Account: DefaultsNamespace {
///         enum Key: String { case isUserLoggedIn, email }
///     }
///     Account.name(of: .isUserLoggedIn)    // "Account.isUserLoggedIn"
public protocol DefaultsNamespace {
    /// The names of the keys.
    associatedtype Key: RawRepresentable where Key.RawValue == String

    /// The prefix of the names, without the dot. By default the name of the type.
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

/// The settings of a namespace in an adapter. The cases of the enumeration `Key` name the settings.
///
///     Defaults.namespace(Account.self).set(true, forKey: .isUserLoggedIn)
public struct NamespaceSettings<Namespace: DefaultsNamespace>: Sendable {
    let core: AdapterCore
    /// The error that each access reports if another type has registered the same namespace in this adapter. Nil if the
    /// namespace belongs to this type.
    let refusal: DefaultsError?

    init(core: AdapterCore) {
        self.core = core
        do {
            try core.register(Namespace.namespace, of: Namespace.self)
            refusal = nil
        } catch {
            refusal = .namespaceTaken(error)
        }
    }

    /// The setting of a key. Nil if another type has the namespace.
    public subscript(_ key: Namespace.Key) -> UntypedSetting? {
        nameOrReport(key, .read).map { UntypedSetting(core: core, name: $0) }
    }

    /// Stores a value.
    public func set<Value: DefaultsSerializable>(_ value: Value, forKey key: Namespace.Key) {
        if let name = nameOrReport(key, .write) { core.setUntyped(name, encoding: value) }
    }

    /// Removes the stored value.
    public func remove(forKey key: Namespace.Key) {
        if let name = nameOrReport(key, .write) { core.setUntyped(name, nil) }
    }

    /// Returns true if a value is stored.
    public func isSet(forKey key: Namespace.Key) -> Bool {
        nameOrReport(key, .read).map { core.isSet(named: $0) } ?? false
    }

    /// Returns the name of a key. If another type has the namespace, reports the error and returns nil.
    private func nameOrReport(_ key: Namespace.Key, _ attempt: DefaultsIssue.Attempt) -> String? {
        let name = Namespace.name(of: key)
        guard let refusal else { return name }
        core.report(refusal, name, attempt)
        return nil
    }
}

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// Returns the settings of a type with an enumeration of keys, for example `Account.isUserLoggedIn`.
    public func namespace<Namespace: DefaultsNamespace>(_ type: Namespace.Type) -> NamespaceSettings<Namespace> {
        NamespaceSettings(core: adapterCore)
    }

    /// Registers the namespace of a type. Without this call, the first use of the type registers the namespace. Throws
    /// if another type has the namespace.
    public func register<Namespace: DefaultsNamespace>(
        namespace type: Namespace.Type
    ) throws(NamespaceConflict) {
        try adapterCore.register(Namespace.namespace, of: type)
    }
}

/// A namespace that names its adapter. The program accesses the settings with static methods of the type:
///
///     enum Account: AdapterNamespace {
///         enum Key: String { case isUserLoggedIn }
///         static var defaults: DefaultsAdapter<DefaultsKeys> { Defaults }
///     }
///     Account.set(true, forKey: .isUserLoggedIn)
public protocol AdapterNamespace: DefaultsNamespace {
    /// The keys of the adapter.
    associatedtype KeyStore: DefaultsKeyStore

    /// The adapter that contains the settings.
    static var defaults: DefaultsAdapter<KeyStore> { get }
}

extension AdapterNamespace {
    private static var settings: NamespaceSettings<Self> { defaults.namespace(Self.self) }

    /// Stores a value.
    public static func set<Value: DefaultsSerializable>(_ value: Value, forKey key: Key) {
        settings.set(value, forKey: key)
    }

    /// Returns the value, or nil.
    public static func value(forKey key: Key) -> JSONValue? { settings[key]?.value }
    /// Returns the value as a boolean, or false.
    public static func bool(forKey key: Key) -> Bool { settings[key]?.boolValue ?? false }
    /// Returns the value as an integer, or 0.
    public static func integer(forKey key: Key) -> Int { settings[key]?.intValue ?? 0 }
    /// Returns the value as a number, or 0.
    public static func double(forKey key: Key) -> Double { settings[key]?.doubleValue ?? 0 }
    /// Returns the value as text, or nil.
    public static func string(forKey key: Key) -> String? { settings[key]?.string }
    /// Returns the elements of an array, or nil.
    public static func array(forKey key: Key) -> [JSONValue]? { settings[key]?.array }
    /// Returns the members of an object, or nil.
    public static func dictionary(forKey key: Key) -> [String: JSONValue]? { settings[key]?.dictionary }
    /// Returns the bytes of Base64 text, or nil.
    public static func data(forKey key: Key) -> Data? { settings[key]?.data }
    /// Returns the date in RFC 3339 text, or nil.
    public static func date(forKey key: Key) -> Date? { settings[key]?.date }
    /// Returns the URL in text, or nil.
    public static func url(forKey key: Key) -> URL? { settings[key]?.url }

    /// Returns true if a value is stored.
    public static func isSet(forKey key: Key) -> Bool { settings.isSet(forKey: key) }
    /// Removes the stored value.
    public static func remove(forKey key: Key) { settings.remove(forKey: key) }
}
