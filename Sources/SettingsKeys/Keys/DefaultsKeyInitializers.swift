internal import SettingsModel

// Each type of key has the limits that its values can have, so a limit that makes no sense does not compile.

extension DefaultsKey {
    /// A key with a default.
    ///
    /// For an optional the default also holds after nil was assigned, as that removes what is stored.
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

    /// Refuses a key without a default that is not optional.
    @available(
        *, unavailable,
        message: "a key that is not optional needs a defaultValue:, as readers get that while nothing is stored"
    )
    @_disfavoredOverload
    public init(_ name: String) {
        // Nothing that compiles can call this.
        fatalError("unavailable")
    }
}

extension DefaultsKey where Value: OptionalSetting {
    /// A key that is nil while nothing is stored.
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
    /// A key for numbers in a range of any form: `0...1`, `0..<10`, `1...`, `...100`, `..<0`.
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
    /// A key for numbers in a range of any form; without a default it is nil while nothing is stored.
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
    /// A key for text of at most so many characters (Unicode scalars), and of a pattern if one is given.
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

    /// A key for text that matches a pattern of ECMA-262; anchor it with `^` and `$` to mean the whole text.
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
    /// A key for text of at most so many characters (Unicode scalars), and of a pattern if one is given; without a
    /// default it is nil while nothing is stored.
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

    /// A key for text that matches a pattern of ECMA-262; without a default it is nil while nothing is stored.
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

// Without these, the compiler reports a constraint of an extension. Each is disfavored, so that a limit which fits
// wins.
extension DefaultsKey {
    /// Refuses a range that is not one of the key's numbers.
    @available(
        *, unavailable,
        message:
            "in: takes a range of the key's numbers; limit text with maxLength: or matching:, other values with allowed:"
    )
    @_disfavoredOverload
    public init(
        _ name: String, defaultValue: Value? = nil, in range: some RangeExpression, description: String? = nil,
        secret: Bool = false, renamedFrom: [String] = [], migrating: KeyMigration<Value>? = nil,
        merge: MergePolicy<Value>? = nil
    ) {
        // Nothing that compiles can call this.
        fatalError("unavailable")
    }

    /// Refuses a length of anything but text.
    @available(
        *, unavailable, message: "maxLength: limits text; limit numbers with in:, other values with allowed:"
    )
    @_disfavoredOverload
    public init(
        _ name: String, defaultValue: Value? = nil, maxLength: Int, matching pattern: String? = nil,
        description: String? = nil, secret: Bool = false, renamedFrom: [String] = [],
        migrating: KeyMigration<Value>? = nil
    ) {
        // Nothing that compiles can call this.
        fatalError("unavailable")
    }

    /// Refuses a pattern of anything but text.
    @available(
        *, unavailable, message: "matching: limits text; limit numbers with in:, other values with allowed:"
    )
    @_disfavoredOverload
    public init(
        _ name: String, defaultValue: Value? = nil, matching pattern: String, description: String? = nil,
        secret: Bool = false, renamedFrom: [String] = [], migrating: KeyMigration<Value>? = nil
    ) {
        // Nothing that compiles can call this.
        fatalError("unavailable")
    }
}

/// An optional type.
///
/// `ExpressibleByNilLiteral` gives the value while nothing is stored. A requirement of this protocol would be a member
/// of `Optional` and would hide an enumeration case of the same name.
public protocol OptionalSetting: DefaultsSerializable, ExpressibleByNilLiteral {
    /// The type without the optional.
    associatedtype Wrapped: DefaultsSerializable
}

extension Optional: OptionalSetting where Wrapped: DefaultsSerializable {}

/// A number, which a range can limit. A comparable type that has a number as its raw value can conform without code.
public protocol NumericSetting: DefaultsSerializable, Comparable {}

/// Text, which a length and a pattern can limit. A type that has text as its raw value can conform without code.
public protocol TextSetting: DefaultsSerializable {}

extension String: TextSetting {}

/// An array or a set, to which elements can be added.
public protocol CollectionSetting: DefaultsSerializable {}

extension Array: CollectionSetting where Element: DefaultsSerializable {}
extension Set: CollectionSetting where Element: DefaultsSerializable {}
