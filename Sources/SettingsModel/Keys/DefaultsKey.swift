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
    /// What the type alone does not say.
    public let traits: KeyTraits
    /// The only values that are allowed, if they were listed.
    public let allowed: [Value]?
    let limits: KeyLimits

    init(name: String, defaultValue: Value, limits: KeyLimits, allowed: [Value]?, traits: KeyTraits) {
        self.name = name
        self.defaultValue = defaultValue
        self.limits = limits
        self.allowed = allowed
        self.traits = traits
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

    /// Traits; by default none.
    public init(
        description: String? = nil, isSecret: Bool = false, renamedFrom: [String] = [], allowsNonFinite: Bool = false
    ) {
        self.description = description
        self.isSecret = isSecret
        self.renamedFrom = renamedFrom
        self.allowsNonFinite = allowsNonFinite
    }
}
