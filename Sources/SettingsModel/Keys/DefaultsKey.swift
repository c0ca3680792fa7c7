/// A setting's name, type and default, said once.
///
///     extension DefaultsKeys {
///         var username: DefaultsKey<String?> { .init("username") }
///         var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
///         var volume: DefaultsKey<Double> { .init("player.volume", defaultValue: 0.5, in: 0...1) }
///     }
///
/// A key is a plain value that costs next to nothing to make: nothing is checked until a ``KeyCodec`` or a ``Schema``
/// is made from it, and those say what is wrong with it.
public struct DefaultsKey<Value: DefaultsSerializable>: Sendable {
    /// The name under which the value is stored.
    public let name: String
    /// What a reader gets while nothing is stored; for an optional without a default, nil.
    public let defaultValue: Value
    /// The only values that are allowed, if they were listed.
    public let allowed: [Value]?
    /// What else the key says; nil for nothing, as of most keys.
    package let rules: KeyRules?

    init(name: String, defaultValue: Value, limits: KeyLimits, allowed: [Value]?, traits: KeyTraits) {
        self.name = name
        self.defaultValue = defaultValue
        self.allowed = allowed
        rules = KeyRules(limits: limits, traits: traits, isLimitedToList: allowed != nil)
    }

    /// What the type alone does not say.
    public var traits: KeyTraits {
        rules?.traits ?? KeyTraits()
    }

    var limits: KeyLimits {
        rules?.limits ?? KeyLimits()
    }

    /// Whether both keys say the same of their values, but for the default.
    package func hasSameRules(as other: DefaultsKey) -> Bool {
        if KeyRules.areSurelySame(rules, other.rules) { return true }
        return KeyRules.areSame(rules, other.rules) && encodedAllowed == other.encodedAllowed
    }

    /// The values that are allowed as JSON; nil if they were not listed or have none.
    private var encodedAllowed: [JSONValue?]? {
        let bridge = bridge
        return try? allowed?.map { try bridge.encodeStored($0) }
    }

    /// How the key's values travel.
    var bridge: Value.Bridge {
        traits.allowsNonFinite ? Value.defaultsBridge.allowingNonFinite() : Value.defaultsBridge
    }
}

/// What a key says of its setting beside type, default and limits.
public struct KeyTraits: Hashable, Sendable {
    /// What the setting is for, for people.
    public var description: String?
    /// Whether the value is a secret, which no message repeats.
    public var isSecret: Bool
    /// Names that the key had before, the latest first. Where only one of these is stored, its value is taken over.
    public var renamedFrom: [String]
    /// Whether floating-point numbers that are not finite may be stored, as strings.
    public var allowsNonFinite: Bool
    /// What becomes of a change in place when somebody else has changed the value meanwhile; nil to keep theirs.
    public var merge: MergeRule?

    /// Traits; by default none.
    public init(
        description: String? = nil, isSecret: Bool = false, renamedFrom: [String] = [], allowsNonFinite: Bool = false,
        merge: MergeRule? = nil
    ) {
        self.description = description
        self.isSecret = isSecret
        self.renamedFrom = renamedFrom
        self.allowsNonFinite = allowsNonFinite
        self.merge = merge
    }

    /// Whether nothing is said.
    var isEmpty: Bool {
        description == nil && !isSecret && renamedFrom.isEmpty && !allowsNonFinite && merge == nil
    }
}

extension KeyTraits {
    /// Whether both say the same, text by its bytes: two spellings of é are two names.
    public static func == (one: KeyTraits, other: KeyTraits) -> Bool {
        one.isSecret == other.isSecret && one.allowsNonFinite == other.allowsNonFinite && one.merge == other.merge
            && one.texts == other.texts
    }

    /// Hashes text by its bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(isSecret)
        hasher.combine(allowsNonFinite)
        hasher.combine(merge)
        hasher.combine(texts)
    }

    private var texts: [UTF8Text?] {
        [description.map { UTF8Text($0) }] + renamedFrom.map { UTF8Text($0) }
    }
}

/// A typed key of whatever type: its name and what it says of its values.
public protocol AnyDefaultsKey: Sendable {
    /// The name under which the value is stored.
    var name: String { get }
    /// The type of the values.
    var valueType: any DefaultsSerializable.Type { get }
    /// What the key says beside type, default and limits.
    var traits: KeyTraits { get }

    /// The key's part of a schema: its type, limits, default and description. Throws if the default or an allowed
    /// value has no JSON form.
    func schemaDocument() throws(BridgeError) -> JSONObject
}

extension DefaultsKey: AnyDefaultsKey {
    /// The type of the values.
    public var valueType: any DefaultsSerializable.Type {
        Value.self
    }

    /// The key's part of a schema: its type, limits, default and description. Throws if the default or an allowed
    /// value has no JSON form.
    public func schemaDocument() throws(BridgeError) -> JSONObject {
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

/// What a key says beside name, type and default, in one object: so a key is little to copy, and one that was made once is
/// known again by it.
///
/// It is made with its key and belongs to no other, save copies of that.
@usableFromInline
package final class KeyRules: Sendable {
    let limits: KeyLimits
    let traits: KeyTraits
    private let hasTraits: Bool
    /// Whether the key lists what is allowed, which is not here: values know themselves whether they are equal.
    let isLimitedToList: Bool

    /// Nil if nothing is said, as of most keys.
    init?(limits: KeyLimits, traits: KeyTraits, isLimitedToList: Bool) {
        guard !limits.isEmpty || !traits.isEmpty || isLimitedToList else { return nil }
        self.limits = limits
        self.traits = traits
        hasTraits = !traits.isEmpty
        self.isLimitedToList = isLimitedToList
    }

    /// Whether two keys say the same but for the values that they list, if they do.
    static func areSame(_ one: KeyRules?, _ other: KeyRules?) -> Bool {
        if one === other { return true }
        guard let one, let other else { return false }
        guard one.isLimitedToList == other.isLimitedToList, one.hasTraits == other.hasTraits else { return false }
        return one.limits == other.limits && (!one.hasTraits || one.traits == other.traits)
    }

    /// Whether two keys are sure to say the same. If not, they may nevertheless: lists would have to be compared.
    package static func areSurelySame(_ one: KeyRules?, _ other: KeyRules?) -> Bool {
        areSame(one, other) && (one === other || one?.isLimitedToList != true)
    }
}
