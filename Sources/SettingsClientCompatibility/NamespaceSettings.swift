public import Foundation
public import SettingsClient
public import SettingsKeys

/// The settings of a namespace in an adapter, by the cases of its `Key`: `Defaults.namespace(Account.self)`.
public struct NamespaceSettings<Namespace: DefaultsNamespace>: Sendable {
    let core: AdapterCore
    /// The reason why there is no access: another type has the namespace.
    let refusal: DefaultsError?

    init(core: AdapterCore) {
        self.core = core
        do {
            try core.register(Namespace.self)
            refusal = nil
        } catch {
            refusal = .namespaceTaken(error)
        }
    }

    /// The setting, to be read as any type; nil if another type has the namespace.
    public subscript(_ key: Namespace.Key) -> UntypedSetting? {
        allowed(key, .read).map { UntypedSetting(core: core, name: $0) }
    }

    /// Stores a value.
    public func set<Value: DefaultsSerializable>(_ value: Value, forKey key: Namespace.Key) {
        if let name = allowed(key, .write) { core.setUntyped(name, encoding: value) }
    }

    /// Removes what is stored.
    public func remove(forKey key: Namespace.Key) {
        if let name = allowed(key, .write) { core.setUntyped(name, nil) }
    }

    /// True if a value is stored.
    public func isSet(forKey key: Namespace.Key) -> Bool {
        allowed(key, .read).map { core.isSet(named: $0) } ?? false
    }

    /// The name of a key; nil if another type has the namespace, which is reported.
    private func allowed(_ key: Namespace.Key, _ attempt: DefaultsIssue.Attempt) -> String? {
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

    /// Gives a type its namespace, as its first use does. Throws if another type has it.
    public func register<Namespace: DefaultsNamespace>(
        namespace type: Namespace.Type
    ) throws(NamespaceConflict) {
        try adapterCore.register(type)
    }
}

/// A namespace that knows the adapter it is in, so that its type is all that is needed:
///
///     enum Account: AdapterNamespace {
///         enum Key: String { case isUserLoggedIn }
///         static var defaults: DefaultsAdapter<DefaultsKeys> { Defaults }
///     }
///     Account.set(true, forKey: .isUserLoggedIn)
public protocol AdapterNamespace: DefaultsNamespace {
    /// The keys of the adapter.
    associatedtype KeyStore: DefaultsKeyStore

    /// Where the settings are.
    static var defaults: DefaultsAdapter<KeyStore> { get }
}

extension AdapterNamespace {
    private static var settings: NamespaceSettings<Self> { defaults.namespace(Self.self) }

    /// Stores a value.
    public static func set<Value: DefaultsSerializable>(_ value: Value, forKey key: Key) {
        settings.set(value, forKey: key)
    }

    /// The value; nil if there is none.
    public static func value(forKey key: Key) -> JSONValue? { settings[key]?.value }
    /// The value as a truth value; false if it is none.
    public static func bool(forKey key: Key) -> Bool { settings[key]?.boolValue ?? false }
    /// The value as an integer; 0 if it is none.
    public static func integer(forKey key: Key) -> Int { settings[key]?.intValue ?? 0 }
    /// The value as a number; 0 if it is none.
    public static func double(forKey key: Key) -> Double { settings[key]?.doubleValue ?? 0 }
    /// The value as text; nil if it is none.
    public static func string(forKey key: Key) -> String? { settings[key]?.string }
    /// The elements of an array; nil if it is none.
    public static func array(forKey key: Key) -> [JSONValue]? { settings[key]?.array }
    /// The members of an object; nil if it is none.
    public static func dictionary(forKey key: Key) -> [String: JSONValue]? { settings[key]?.dictionary }
    /// Data; nil if it is none.
    public static func data(forKey key: Key) -> Data? { settings[key]?.data }
    /// A date; nil if it is none.
    public static func date(forKey key: Key) -> Date? { settings[key]?.date }
    /// A URL; nil if it is none.
    public static func url(forKey key: Key) -> URL? { settings[key]?.url }

    /// True if a value is stored.
    public static func isSet(forKey key: Key) -> Bool { settings.isSet(forKey: key) }
    /// Removes what is stored.
    public static func remove(forKey key: Key) { settings.remove(forKey: key) }
}
