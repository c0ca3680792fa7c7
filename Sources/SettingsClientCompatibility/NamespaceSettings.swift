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
    /// The error that each access reports, if another type has registered the same namespace in this adapter. Otherwise
    /// nil.
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
        reportingRefusal(key, .read).map { UntypedSetting(core: core, name: $0) }
    }

    /// Stores a value.
    public func set<Value: DefaultsSerializable>(_ value: Value, forKey key: Namespace.Key) {
        if let name = reportingRefusal(key, .write) { core.setUntyped(name, encoding: value) }
    }

    /// Removes the stored value.
    public func remove(forKey key: Namespace.Key) {
        if let name = reportingRefusal(key, .write) { core.setUntyped(name, nil) }
    }

    /// True if a value is stored.
    public func isSet(forKey key: Namespace.Key) -> Bool {
        reportingRefusal(key, .read).map { core.isSet(named: $0) } ?? false
    }

    /// Returns the name of a key. If another type has the namespace, reports the error and returns nil.
    private func reportingRefusal(_ key: Namespace.Key, _ attempt: DefaultsIssue.Attempt) -> String? {
        let name = Namespace.name(of: key)
        guard let refusal else { return name }
        core.report(refusal, name, attempt)
        return nil
    }
}

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// The settings of a type with an enumeration of keys, stored as `Account.isUserLoggedIn`.
    public func namespace<Namespace: DefaultsNamespace>(_ type: Namespace.Type) -> NamespaceSettings<Namespace> {
        NamespaceSettings(core: adapterCore)
    }

    /// Registers the namespace of a type, as its first use does. Throws if another type has the namespace.
    public func register<Namespace: DefaultsNamespace>(
        namespace type: Namespace.Type
    ) throws(NamespaceConflict) {
        try adapterCore.register(Namespace.namespace, of: type)
    }
}

/// A namespace with its adapter. The program accesses the settings with static methods of the type:
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

    /// The value, or nil.
    public static func value(forKey key: Key) -> JSONValue? { settings[key]?.value }
    /// The value as a boolean, or false.
    public static func bool(forKey key: Key) -> Bool { settings[key]?.boolValue ?? false }
    /// The value as an integer, or 0.
    public static func integer(forKey key: Key) -> Int { settings[key]?.intValue ?? 0 }
    /// The value as a number, or 0.
    public static func double(forKey key: Key) -> Double { settings[key]?.doubleValue ?? 0 }
    /// The value as text, or nil.
    public static func string(forKey key: Key) -> String? { settings[key]?.string }
    /// The elements of an array, or nil.
    public static func array(forKey key: Key) -> [JSONValue]? { settings[key]?.array }
    /// The members of an object, or nil.
    public static func dictionary(forKey key: Key) -> [String: JSONValue]? { settings[key]?.dictionary }
    /// The bytes of Base64 text, or nil.
    public static func data(forKey key: Key) -> Data? { settings[key]?.data }
    /// The date of text in RFC 3339, or nil.
    public static func date(forKey key: Key) -> Date? { settings[key]?.date }
    /// The URL of text, or nil.
    public static func url(forKey key: Key) -> URL? { settings[key]?.url }

    /// True if a value is stored.
    public static func isSet(forKey key: Key) -> Bool { settings.isSet(forKey: key) }
    /// Removes the stored value.
    public static func remove(forKey key: Key) { settings.remove(forKey: key) }
}
