internal import SettingsModel

// Each kind of value has its own initializers, so a key with a limit that does not fit the type of its values does not
// compile.

extension DefaultsKey {
    /// Creates a key with a default.
    ///
    /// An assignment of nil to an optional setting removes the stored value, so that the setting has its default again.
    ///
    /// - Parameters:
    ///   - name: the name under which the value is stored.
    ///   - defaultValue: the value of the setting while nothing is stored.
    ///   - allowed: all values that the setting may have. Nil allows every value of the type.
    ///   - description: the purpose of the setting, for users.
    ///   - secret: true for a secret: error messages and the log do not contain the value, and the schema that is made
    ///     from the key has `writeOnly`.
    ///   - renamedFrom: the former names of the key, the latest first. The client moves a value that is stored under a
    ///     former name to `name`.
    ///   - migrating: converts a stored value that an earlier version of the program stored as another type.
    ///   - nonFinite: true to allow infinity and NaN, which are stored as strings.
    ///   - elements: `.droppingUnknown` makes a read leave out the stored elements that the element type cannot decode.
    ///     Without it, one such element makes the whole stored value unreadable.
    ///   - merge: how a change in place (`+= 1`, `append`) is combined with a value that another program has stored
    ///     since the read. Without `merge`, the daemon refuses the change in place if another program has changed the
    ///     value.
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
        message: "a key that is not optional needs a defaultValue:, which is its value while nothing is stored"
    )
    @_disfavoredOverload
    public init(_ name: String) {
        fatalError("unavailable")
    }
}

extension DefaultsKey where Value: OptionalSetting {
    /// Creates a key that is nil while nothing is stored.
    ///
    /// - Parameters:
    ///   - name: the name under which the value is stored.
    ///   - allowed: all values that the setting may have. Nil allows every value of the type.
    ///   - description: the purpose of the setting, for users.
    ///   - secret: true for a secret: error messages and the log do not contain the value, and the schema that is made
    ///     from the key has `writeOnly`.
    ///   - renamedFrom: the former names of the key, the latest first. The client moves a value that is stored under a
    ///     former name to `name`.
    ///   - migrating: converts a stored value that an earlier version of the program stored as another type.
    ///   - nonFinite: true to allow infinity and NaN, which are stored as strings.
    ///   - elements: `.droppingUnknown` makes a read leave out the stored elements that the element type cannot decode.
    ///     Without it, one such element makes the whole stored value unreadable.
    ///   - merge: how a change in place (`+= 1`, `append`) is combined with a value that another program has stored
    ///     since the read. Without `merge`, the daemon refuses the change in place if another program has changed the
    ///     value.
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
    ///
    /// - Parameters:
    ///   - name: the name under which the value is stored.
    ///   - defaultValue: the value of the setting while nothing is stored.
    ///   - range: the allowed numbers.
    ///   - description: the purpose of the setting, for users.
    ///   - secret: true for a secret: error messages and the log do not contain the value, and the schema that is made
    ///     from the key has `writeOnly`.
    ///   - renamedFrom: the former names of the key, the latest first.
    ///   - migrating: converts a stored value that an earlier version of the program stored as another type.
    ///   - merge: `.sum` adds the difference of `+= 1` to a number that another program has stored since the read.
    ///     Without `merge`, the daemon refuses the change in place if another program has changed the number.
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
    /// Creates a key for numbers in a range. Without a default, the value is nil while nothing is stored.
    ///
    /// - Parameters:
    ///   - name: the name under which the value is stored.
    ///   - defaultValue: the value of the setting while nothing is stored.
    ///   - range: the allowed numbers.
    ///   - description: the purpose of the setting, for users.
    ///   - secret: true for a secret: error messages and the log do not contain the value, and the schema that is made
    ///     from the key has `writeOnly`.
    ///   - renamedFrom: the former names of the key, the latest first.
    ///   - migrating: converts a stored value that an earlier version of the program stored as another type.
    ///   - merge: `.sum` adds the difference of `+= 1` to a number that another program has stored since the read.
    ///     Without `merge`, the daemon refuses the change in place if another program has changed the number.
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
    /// Creates a key for text with at most `maxLength` Unicode scalars. If there is a pattern, the text must contain a
    /// match of this ECMA-262 pattern.
    ///
    /// - Parameters:
    ///   - name: the name under which the value is stored.
    ///   - defaultValue: the value of the setting while nothing is stored.
    ///   - maxLength: the maximum number of Unicode scalars.
    ///   - pattern: the ECMA-262 pattern.
    ///   - description: the purpose of the setting, for users.
    ///   - secret: true for a secret: error messages and the log do not contain the value, and the schema that is made
    ///     from the key has `writeOnly`.
    ///   - renamedFrom: the former names of the key, the latest first.
    ///   - migrating: converts a stored value that an earlier version of the program stored as another type.
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
    ///
    /// - Parameters:
    ///   - name: the name under which the value is stored.
    ///   - defaultValue: the value of the setting while nothing is stored.
    ///   - pattern: the ECMA-262 pattern.
    ///   - description: the purpose of the setting, for users.
    ///   - secret: true for a secret: error messages and the log do not contain the value, and the schema that is made
    ///     from the key has `writeOnly`.
    ///   - renamedFrom: the former names of the key, the latest first.
    ///   - migrating: converts a stored value that an earlier version of the program stored as another type.
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
    /// Creates a key for text with at most `maxLength` Unicode scalars. If there is a pattern, the text must contain a
    /// match of this ECMA-262 pattern. Without a default, the value is nil while nothing is stored.
    ///
    /// - Parameters:
    ///   - name: the name under which the value is stored.
    ///   - defaultValue: the value of the setting while nothing is stored.
    ///   - maxLength: the maximum number of Unicode scalars.
    ///   - pattern: the ECMA-262 pattern.
    ///   - description: the purpose of the setting, for users.
    ///   - secret: true for a secret: error messages and the log do not contain the value, and the schema that is made
    ///     from the key has `writeOnly`.
    ///   - renamedFrom: the former names of the key, the latest first.
    ///   - migrating: converts a stored value that an earlier version of the program stored as another type.
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

    /// Creates a key for text that contains a match of an ECMA-262 pattern. Without a default, the value is nil while
    /// nothing is stored.
    ///
    /// - Parameters:
    ///   - name: the name under which the value is stored.
    ///   - defaultValue: the value of the setting while nothing is stored.
    ///   - pattern: the ECMA-262 pattern.
    ///   - description: the purpose of the setting, for users.
    ///   - secret: true for a secret: error messages and the log do not contain the value, and the schema that is made
    ///     from the key has `writeOnly`.
    ///   - renamedFrom: the former names of the key, the latest first.
    ///   - migrating: converts a stored value that an earlier version of the program stored as another type.
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

// If no available initializer fits a call, the compiler chooses one of these unavailable initializers, whose messages
// name the correct parameter. Without them, the compiler would report an unmet constraint of an extension.
extension DefaultsKey {
    /// Not available. The range does not fit the type of the key.
    @available(
        *, unavailable,
        message:
            "in: needs a range of the same number type as the key; limit text with maxLength: or matching:, other values with allowed:"
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
/// The inherited protocol `ExpressibleByNilLiteral` provides the value while nothing is stored. If `OptionalSetting`
/// declared a static member such as `unset` for this value, `.unset` in an assignment to an optional enumeration would
/// mean this member instead of a case `unset` of the enumeration.
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

/// An array or a set. `merge: .append` requires this protocol.
public protocol CollectionSetting: DefaultsSerializable {}

extension Array: CollectionSetting where Element: DefaultsSerializable {}
extension Set: CollectionSetting where Element: DefaultsSerializable {}
