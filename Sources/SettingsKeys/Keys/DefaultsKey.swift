package import SettingsModel

/// A key: the name, the type and the default of a setting.
///
///     extension DefaultsKeys {
///         var username: DefaultsKey<String?> { .init("username") }
///         var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
///         var volume: DefaultsKey<Double> { .init("player.volume", defaultValue: 0.5, in: 0...1) }
///     }
///
/// A key is a value that is cheap to create. Its creation does not check the name, the limits and the default. Creating
/// a ``KeyCodec`` or a `Schema` from the key checks them.
public struct DefaultsKey<Value: DefaultsSerializable>: Sendable {
    /// The name under which the value is stored.
    public let name: String
    /// The value while nothing is stored. Nil for an optional without a default.
    public let defaultValue: Value
    /// The allowed values. Nil if the key does not list them.
    package let allowed: [Value]?
    /// The limits, the traits and the former type. Nil for a key that has none of these and does not list its allowed
    /// values.
    package let rules: KeyRules?

    init(
        name: String, defaultValue: Value, limits: KeyLimits, allowed: [Value]?, traits: KeyTraits,
        migration: KeyMigration<Value>?
    ) {
        self.name = name
        self.defaultValue = defaultValue
        self.allowed = allowed
        rules = KeyRules(
            limits: limits, traits: traits, isLimitedToList: allowed != nil, formerType: migration?.conversion)
    }

    /// The properties other than the type, the default, the limits and the allowed values.
    package var traits: KeyTraits {
        rules?.traits ?? KeyTraits()
    }

    var limits: KeyLimits {
        rules?.limits ?? KeyLimits()
    }

    /// The conversion of stored values of the key's former type. Nil if the key has no former type.
    var conversion: Conversion<Value>? {
        rules?.formerType as? Conversion<Value>
    }

    /// Returns true if both keys have the same limits, traits, former types and allowed values. Their names and
    /// defaults may differ.
    package func hasSameRules(as other: DefaultsKey) -> Bool {
        if KeyRules.areSurelySame(rules, other.rules) { return true }
        return KeyRules.areSame(rules, other.rules) && encodedAllowed == other.encodedAllowed
    }

    /// The allowed values as JSON. Nil if the key does not list them or they have no JSON form. Two keys whose lists
    /// have no JSON form count as the same, so that the client reports the unusable key only once.
    private var encodedAllowed: [JSONValue?]? {
        let bridge = bridge
        return try? allowed?.map { try bridge.encodeStored($0) }
    }

    var bridge: Value.Bridge {
        traits.allowsNonFinite ? Value.defaultsBridge.allowingNonFinite() : Value.defaultsBridge
    }
}

/// The properties of a key other than its type, its default, its limits and its allowed values.
package struct KeyTraits: Equatable, Sendable {
    /// The purpose of the setting, for users.
    package var description: String?
    /// True if error messages and the log must not contain the value. The schema of the key then has `writeOnly`.
    package var isSecret: Bool
    /// The former names of the key, the latest first. The client moves a value that is stored under a former name to
    /// the name of the key.
    package var renamedFrom: [String]
    /// True if numbers that are not finite may be stored, as strings.
    package var allowsNonFinite: Bool
    /// True if the decoding of an array or a set leaves out elements that cannot be decoded.
    package var dropsUnknownElements: Bool
    /// The rule for a change in place (`+= 1`, `append`) after another program has changed the value. Without a rule,
    /// the daemon refuses the change.
    package var merge: MergeRule?

    package init(
        description: String? = nil, isSecret: Bool = false, renamedFrom: [String] = [], allowsNonFinite: Bool = false,
        dropsUnknownElements: Bool = false, merge: MergeRule? = nil
    ) {
        self.description = description
        self.isSecret = isSecret
        self.renamedFrom = renamedFrom
        self.allowsNonFinite = allowsNonFinite
        self.dropsUnknownElements = dropsUnknownElements
        self.merge = merge
    }

    var isEmpty: Bool {
        description == nil && !isSecret && renamedFrom.isEmpty && !allowsNonFinite && !dropsUnknownElements
            && merge == nil
    }
}

extension KeyTraits {
    /// Compares the properties, and the text in them by its bytes.
    package static func == (one: KeyTraits, other: KeyTraits) -> Bool {
        one.isSecret == other.isSecret && one.allowsNonFinite == other.allowsNonFinite
            && one.dropsUnknownElements == other.dropsUnknownElements && one.merge == other.merge
            && one.texts == other.texts
    }

    private var texts: [UTF8Text?] {
        [description.map { UTF8Text($0) }] + renamedFrom.map { UTF8Text($0) }
    }
}

/// A key of any type.
package protocol AnyDefaultsKey: Sendable {
    /// The name under which the value is stored.
    var name: String { get }
    /// The type of the values.
    var valueType: any DefaultsSerializable.Type { get }
    /// The properties other than the type, the default, the limits and the allowed values.
    var traits: KeyTraits { get }

    /// Returns the schema of the key: its type, limits, allowed values, default, description, `writeOnly`, former names
    /// and merge rule. Throws if the default or an allowed value has no JSON form.
    func schemaDocument() throws(BridgeError) -> JSONObject
}

extension DefaultsKey: AnyDefaultsKey {
    package var valueType: any DefaultsSerializable.Type {
        Value.self
    }

    package func schemaDocument() throws(BridgeError) -> JSONObject {
        let bridge = bridge
        var document = bridge.storedSchema.document
        limits.apply(to: &document)
        if let allowed {
            var values: [JSONValue] = []
            for value in allowed {
                if let json = try bridge.encodeStored(value) { values.append(json) }
            }
            document["enum"] = .array(values)
        }
        if let json = try bridge.encodeStored(defaultValue) { document["default"] = json }
        if let description = traits.description { document["description"] = .string(description) }
        if traits.isSecret { document["writeOnly"] = true }
        if !traits.renamedFrom.isEmpty {
            document["x-renamedFrom"] = .array(traits.renamedFrom.map(JSONValue.string))
        }
        if let merge = traits.merge { document["x-merge"] = .string(merge.rawValue) }
        return document
    }
}

/// The limits, the traits and the former type of a key. They are in one object so that a key is cheap to copy, and so
/// that copies of a key can be compared by the identity of the object.
package final class KeyRules: Sendable {
    let limits: KeyLimits
    let traits: KeyTraits
    private let hasTraits: Bool
    /// True if the key lists the allowed values. The list is not in this object, because its comparison needs the type
    /// of the key.
    let isLimitedToList: Bool
    let formerType: (any FormerType)?

    /// Returns nil if there are no limits, no traits, no list of allowed values and no former type.
    init?(limits: KeyLimits, traits: KeyTraits, isLimitedToList: Bool, formerType: (any FormerType)?) {
        guard !limits.isEmpty || !traits.isEmpty || isLimitedToList || formerType != nil else { return nil }
        self.limits = limits
        self.traits = traits
        hasTraits = !traits.isEmpty
        self.isLimitedToList = isLimitedToList
        self.formerType = formerType
    }

    /// Returns true if two keys have the same limits, traits and former types, and if both keys or neither key list the
    /// allowed values. Does not compare the lists.
    static func areSame(_ one: KeyRules?, _ other: KeyRules?) -> Bool {
        if one === other { return true }
        guard let one, let other else { return false }
        guard one.isLimitedToList == other.isLimitedToList, one.hasTraits == other.hasTraits,
            one.formerType?.type == other.formerType?.type
        else { return false }
        return one.limits == other.limits && (!one.hasTraits || one.traits == other.traits)
    }

    /// Returns true if two keys share the object or have none, so that their lists of allowed values are the same, or
    /// if ``areSame(_:_:)`` returns true and neither key lists its allowed values. Returns false if the rules differ,
    /// or if the lists have to be compared.
    package static func areSurelySame(_ one: KeyRules?, _ other: KeyRules?) -> Bool {
        areSame(one, other) && (one === other || one?.isLimitedToList != true)
    }
}
