internal import SettingsModel

// Each type of value has its own initializers, so a limit that does not fit the type does not compile.

extension DefaultsKey {
    /// Creates a key with a default.
    ///
    /// An assignment of nil to an optional setting removes the stored value, so that the setting has its default again.
    public init(
        _ name: String, defaultValue: Value, allowed: [Value]? = nil, description: String? = nil, secret: Bool = false,
        renamedFrom: [String] = [], migrating: KeyMigration<Value>? = nil, nonFinite: Bool = false,
        elements: ElementPolicy<Value>? = nil,
        merge: MergePolicy<Value>? = nil
    ) {
        self.init(
            name: name, defaultValue: defaultValue, limits: KeyLimits(), allowed: allowed,
            traits: KeyTraits(
                description: description, isSecret: secret, renamedFrom: renamedFrom, allowsNonFinite: nonFinite,
                dropsUnknownElements: elements != nil, merge: merge?.rule), migration: migrating)
    }

    /// Not available. A key that is not optional needs a default.
    @available(
        *, unavailable,
        message: "a key that is not optional needs a defaultValue:, as readers get that while nothing is stored"
    )
    @_disfavoredOverload
    public init(_ name: String) {
        fatalError("unavailable")
    }
}

extension DefaultsKey where Value: OptionalSetting {
    /// Creates a key that is nil while nothing is stored.
    public init(
        _ name: String, allowed: [Value]? = nil, description: String? = nil, secret: Bool = false,
        renamedFrom: [String] = [], migrating: KeyMigration<Value>? = nil, nonFinite: Bool = false,
        elements: ElementPolicy<Value>? = nil,
        merge: MergePolicy<Value>? = nil
    ) {
        self.init(
            name, defaultValue: nil, allowed: allowed, description: description, secret: secret,
            renamedFrom: renamedFrom, migrating: migrating, nonFinite: nonFinite, elements: elements, merge: merge)
    }
}

extension DefaultsKey where Value: NumericSetting {
    /// Creates a key for numbers in a range: `0...1`, `0..<10`, `1...`, `...100`, `..<0`.
    public init(
        _ name: String, defaultValue: Value, in range: some RangeExpression<Value>, description: String? = nil,
        secret: Bool = false, renamedFrom: [String] = [], migrating: KeyMigration<Value>? = nil,
        merge: MergePolicy<Value>? = nil
    ) {
        self.init(
            name: name, defaultValue: defaultValue, limits: KeyLimits(bounds: NumberBounds(range)), allowed: nil,
            traits: KeyTraits(description: description, isSecret: secret, renamedFrom: renamedFrom, merge: merge?.rule),
            migration: migrating)
    }
}

extension DefaultsKey where Value: OptionalSetting, Value.Wrapped: NumericSetting {
    /// Creates a key for numbers in a range. Without a default, it is nil while nothing is stored.
    public init(
        _ name: String, defaultValue: Value = nil, in range: some RangeExpression<Value.Wrapped>,
        description: String? = nil, secret: Bool = false, renamedFrom: [String] = [],
        migrating: KeyMigration<Value>? = nil, merge: MergePolicy<Value>? = nil
    ) {
        self.init(
            name: name, defaultValue: defaultValue, limits: KeyLimits(bounds: NumberBounds(range)), allowed: nil,
            traits: KeyTraits(description: description, isSecret: secret, renamedFrom: renamedFrom, merge: merge?.rule),
            migration: migrating)
    }
}

extension DefaultsKey where Value: TextSetting {
    /// Creates a key for text with at most `maxLength` Unicode scalars, which matches the pattern if there is a
    /// pattern.
    public init(
        _ name: String, defaultValue: Value, maxLength: Int, matching pattern: String? = nil,
        description: String? = nil, secret: Bool = false, renamedFrom: [String] = [],
        migrating: KeyMigration<Value>? = nil
    ) {
        self.init(
            name: name, defaultValue: defaultValue, limits: KeyLimits(maxLength: maxLength, pattern: pattern),
            allowed: nil, traits: KeyTraits(description: description, isSecret: secret, renamedFrom: renamedFrom),
            migration: migrating)
    }

    /// Creates a key for text that contains a match of an ECMA-262 pattern. Use `^` and `$` to match the whole text.
    public init(
        _ name: String, defaultValue: Value, matching pattern: String, description: String? = nil,
        secret: Bool = false, renamedFrom: [String] = [], migrating: KeyMigration<Value>? = nil
    ) {
        self.init(
            name: name, defaultValue: defaultValue, limits: KeyLimits(pattern: pattern), allowed: nil,
            traits: KeyTraits(description: description, isSecret: secret, renamedFrom: renamedFrom),
            migration: migrating)
    }
}

extension DefaultsKey where Value: OptionalSetting, Value.Wrapped: TextSetting {
    /// Creates a key for text with at most `maxLength` Unicode scalars, which matches the pattern if there is a
    /// pattern. Without a default, it is nil while nothing is stored.
    public init(
        _ name: String, defaultValue: Value = nil, maxLength: Int, matching pattern: String? = nil,
        description: String? = nil, secret: Bool = false, renamedFrom: [String] = [],
        migrating: KeyMigration<Value>? = nil
    ) {
        self.init(
            name: name, defaultValue: defaultValue, limits: KeyLimits(maxLength: maxLength, pattern: pattern),
            allowed: nil, traits: KeyTraits(description: description, isSecret: secret, renamedFrom: renamedFrom),
            migration: migrating)
    }

    /// Creates a key for text that contains a match of an ECMA-262 pattern. Without a default, it is nil while nothing
    /// is stored.
    public init(
        _ name: String, defaultValue: Value = nil, matching pattern: String, description: String? = nil,
        secret: Bool = false, renamedFrom: [String] = [], migrating: KeyMigration<Value>? = nil
    ) {
        self.init(
            name: name, defaultValue: defaultValue, limits: KeyLimits(pattern: pattern), allowed: nil,
            traits: KeyTraits(description: description, isSecret: secret, renamedFrom: renamedFrom),
            migration: migrating)
    }
}

// The unavailable initializers replace the compiler's message about a constraint of an extension by a helpful message.
// They are disfavored, so that the compiler chooses them only if no other initializer fits.
extension DefaultsKey {
    /// Not available. The range does not fit the type of the key.
    @available(
        *, unavailable,
        message:
            "in: must be a range of the key's numbers; limit text with maxLength: or matching:, other values with allowed:"
    )
    @_disfavoredOverload
    public init(
        _ name: String, defaultValue: Value? = nil, in range: some RangeExpression, description: String? = nil,
        secret: Bool = false, renamedFrom: [String] = [], migrating: KeyMigration<Value>? = nil,
        merge: MergePolicy<Value>? = nil
    ) {
        fatalError("unavailable")
    }

    /// Not available. Only text has a length.
    @available(
        *, unavailable, message: "maxLength: limits text; limit numbers with in:, other values with allowed:"
    )
    @_disfavoredOverload
    public init(
        _ name: String, defaultValue: Value? = nil, maxLength: Int, matching pattern: String? = nil,
        description: String? = nil, secret: Bool = false, renamedFrom: [String] = [],
        migrating: KeyMigration<Value>? = nil
    ) {
        fatalError("unavailable")
    }

    /// Not available. Only text can match a pattern.
    @available(
        *, unavailable, message: "matching: limits text; limit numbers with in:, other values with allowed:"
    )
    @_disfavoredOverload
    public init(
        _ name: String, defaultValue: Value? = nil, matching pattern: String, description: String? = nil,
        secret: Bool = false, renamedFrom: [String] = [], migrating: KeyMigration<Value>? = nil
    ) {
        fatalError("unavailable")
    }
}

/// An optional type.
///
/// The inherited protocol `ExpressibleByNilLiteral` provides the value while nothing is stored. A requirement of this
/// protocol would instead be a member of `Optional`, and would hide a case of the same name of a wrapped enumeration.
public protocol OptionalSetting: DefaultsSerializable, ExpressibleByNilLiteral {
    /// The wrapped type.
    associatedtype Wrapped: DefaultsSerializable
}

extension Optional: OptionalSetting where Wrapped: DefaultsSerializable {}

/// A number, which a range can limit. A comparable type whose raw value is a number can conform without code.
public protocol NumericSetting: DefaultsSerializable, Comparable {}

/// Text, which a length and a pattern can limit. A type whose raw value is text can conform without code.
public protocol TextSetting: DefaultsSerializable {}

extension String: TextSetting {}

/// An array or a set, to which elements can be added.
public protocol CollectionSetting: DefaultsSerializable {}

extension Array: CollectionSetting where Element: DefaultsSerializable {}
extension Set: CollectionSetting where Element: DefaultsSerializable {}
