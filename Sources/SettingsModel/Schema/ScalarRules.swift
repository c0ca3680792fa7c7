// The `init?` of each type of rules reads the rules from a schema object, and returns nil if there is no rule to check.

/// The rules `enum` and `const`, which compare values by the equality of JSON Schema.
package final class ValueRules: Sendable {
    private let listed: [JSONValue]?
    private let listedSet: Set<MathematicalJSON>
    private let constant: JSONValue?

    init?(_ source: SchemaSource, _ compiler: inout SchemaCompiler) {
        constant = source.object["const"]
        listed = source.object["enum"]?.array
        if listed == nil, let value = source.object["enum"] {
            let detail = "must be an array (got \(value.kindPhrase))"
            compiler.report(source.pointer.appending("enum"), "enum", detail)
        }
        listedSet = Set((listed ?? []).map(MathematicalJSON.init))
        if listed == nil && constant == nil { return nil }
    }

    func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        // `spend` returns false if the validation has exhausted its budget. The validator then refuses the whole value.
        guard validator.spend(value.extent) else { return }
        if let constant, !value.isMathematicallyEqual(to: constant) {
            // `description` could be very long for an array, an object or a long string, so the message refers to the
            // schema.
            let demand = constant.briefScalar == nil ? "equal to the constant in the schema" : constant.description
            validator.fail("const", "must be \(demand)", value, expected: constant)
        }
        if let listed, !listedSet.contains(MathematicalJSON(value)) {
            let demand =
                listed.isEmpty
                ? "cannot have a value, because enum in the schema is empty" : "must be one of \(Self.listing(listed))"
            validator.fail("enum", demand, value, expected: .array(listed))
        }
    }

    /// Lists the first values for a message.
    package static func listing(_ values: [JSONValue]) -> String {
        let maximumShown = 12
        let shown = values.prefix(maximumShown).map(\.briefPhrase).joined(separator: ", ")
        return values.count > maximumShown ? "\(shown) and \(values.count - maximumShown) more" : shown
    }
}

/// The rules for numbers. Limits are compared exactly, even if one number is an Int64 and the other a Double.
final class NumberRules: Sendable {
    private struct Limit {
        let keyword: SchemaKeyword
        /// The beginning of the message, such as `must be at least`.
        let demand: String
        /// The limit as the schema writes it, for messages.
        let json: JSONValue
        let number: JSONNumber
    }

    private static let demands: [(keyword: SchemaKeyword, demand: String)] = [
        (.minimum, "must be at least"), (.maximum, "must be at most"), (.exclusiveMinimum, "must be greater than"),
        (.exclusiveMaximum, "must be less than"), (.multipleOf, "must be a multiple of"),
    ]

    private let limits: [Limit]

    init?(_ source: SchemaSource, _ compiler: inout SchemaCompiler) {
        var limits: [Limit] = []
        for (keyword, demand) in Self.demands {
            guard let json = compiler.number(keyword.rawValue, source), let number = JSONNumber(json) else { continue }
            if keyword == .multipleOf, !JSONNumber.integer(0).isLess(than: number) {
                compiler.report(source.pointer.appending("multipleOf"), "multipleOf", "must be greater than 0")
            }
            limits.append(Limit(keyword: keyword, demand: demand, json: json, number: number))
        }
        if limits.isEmpty { return nil }
        self.limits = limits
    }

    func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        guard let number = JSONNumber(value) else { return }
        for limit in limits {
            let isObeyed =
                switch limit.keyword {
                case .minimum: !number.isLess(than: limit.number)
                case .maximum: !limit.number.isLess(than: number)
                case .exclusiveMinimum: limit.number.isLess(than: number)
                case .exclusiveMaximum: number.isLess(than: limit.number)
                default: value.isMultiple(of: limit.json)
                }
            if !isObeyed {
                validator.fail(limit.keyword.rawValue, "\(limit.demand) \(limit.json)", value, expected: limit.json)
            }
        }
    }
}

/// The rules for strings. Lengths count Unicode scalars.
final class StringRules: Sendable {
    private let length: CountRule?
    private let pattern: Pattern?
    private let format: StringFormat?
    private let isBase64: Bool

    init?(_ source: SchemaSource, _ compiler: inout SchemaCompiler) {
        length = CountRule("minLength", "maxLength", of: "character", source, &compiler)
        pattern = compiler.string("pattern", source).flatMap {
            compiler.pattern($0, at: source.pointer.appending("pattern"), "pattern")
        }
        let formatName = compiler.string("format", source)
        format = formatName.flatMap(StringFormat.init(rawValue:))
        if let formatName, format == nil {
            let hint = NameSuggestion.phrase(for: formatName, among: StringFormat.allCases.map(\.rawValue))
            let detail = "\"\(formatName)\" is not a supported format\(hint)"
            compiler.reportUnsupported(source.pointer.appending("format"), "format", detail)
        }
        let encoding = compiler.string("contentEncoding", source)
        isBase64 = encoding == "base64"
        if let encoding, !isBase64 {
            let detail = "must be base64 (got \(encoding))"
            compiler.reportUnsupported(source.pointer.appending("contentEncoding"), "contentEncoding", detail)
        }
        if length == nil, pattern == nil, format == nil, !isBase64 { return nil }
    }

    func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        guard case .string(let text) = value else { return }
        // The validation of a format takes several times as long as counting the characters, so it costs more steps.
        guard validator.spend(format == nil ? text.utf8.count / 8 : text.utf8.count) else { return }
        if let length { length.check(text.unicodeScalars.count, value, &validator) }
        if let pattern, !validator.matches(text, pattern) {
            validator.fail(
                "pattern", "must match the pattern \(pattern.source.cut(to: 200))", value,
                expected: .string(pattern.source))
        }
        if let format, !format.accepts(text) {
            validator.fail("format", "must be \(format.expectation)", value, expected: .string(format.rawValue))
        }
        if isBase64, !Base64Text.isValid(text) {
            validator.fail("contentEncoding", "must be Base64 text with its padding", value, expected: "base64")
        }
    }
}

/// A rule that limits the number of characters, elements or members.
struct CountRule: Sendable {
    private let minimumKeyword: String
    private let maximumKeyword: String
    private let noun: String
    private let minimum: Int?
    private let maximum: Int?

    init?(
        _ minimumKeyword: String, _ maximumKeyword: String, of noun: String, _ source: SchemaSource,
        _ compiler: inout SchemaCompiler
    ) {
        self.minimumKeyword = minimumKeyword
        self.maximumKeyword = maximumKeyword
        self.noun = noun
        minimum = compiler.count(minimumKeyword, source)
        maximum = compiler.count(maximumKeyword, source)
        if minimum == nil && maximum == nil { return nil }
    }

    /// - Parameter checksMinimum: false for the object of all defaults of a suite, because keys without a default may
    ///   be missing.
    func check(_ count: Int, _ value: JSONValue, checksMinimum: Bool = true, _ validator: inout SchemaValidator) {
        if let minimum, count < minimum, checksMinimum {
            validator.fail(
                minimumKeyword, "must have at least \(Plural.count(minimum, noun))", value,
                found: String(count), expected: .integer(Int64(minimum)))
        }
        if let maximum, count > maximum {
            validator.fail(
                maximumKeyword, "must have at most \(Plural.count(maximum, noun))", value,
                found: String(count), expected: .integer(Int64(maximum)))
        }
    }
}

/// A set of JSON types: the value of the keyword `type`.
package struct JSONTypeSet: OptionSet, Sendable {
    package let rawValue: UInt8

    package static let null = JSONTypeSet(rawValue: 1)
    package static let boolean = JSONTypeSet(rawValue: 2)
    package static let integer = JSONTypeSet(rawValue: 4)
    package static let number = JSONTypeSet(rawValue: 8)
    package static let string = JSONTypeSet(rawValue: 16)
    package static let array = JSONTypeSet(rawValue: 32)
    package static let object = JSONTypeSet(rawValue: 64)

    /// The types, in the order in which messages list them.
    package static let names: [(name: String, type: JSONTypeSet, phrase: String)] = [
        ("boolean", .boolean, "a boolean"), ("integer", .integer, "an integer"), ("number", .number, "a number"),
        ("string", .string, "a string"), ("array", .array, "an array"), ("object", .object, "an object"),
        ("null", .null, "null"),
    ]

    package init?(name: String) {
        guard let entry = Self.names.first(where: { $0.name == name }) else { return nil }
        self = entry.type
    }

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// True if the type of the value is in the set. A double without a fraction, such as `1.0`, counts as an integer,
    /// but not beyond 2⁵³, where one double represents several integers (see `Double.exactInteger`).
    package func admits(_ value: JSONValue) -> Bool {
        switch value {
        case .null: contains(.null)
        case .bool: contains(.boolean)
        case .integer: !isDisjoint(with: [.integer, .number])
        case .double(let double):
            double.isFinite && (contains(.number) || (contains(.integer) && double.exactInteger != nil))
        case .string: contains(.string)
        case .array: contains(.array)
        case .object: contains(.object)
        }
    }

    /// True if a double without a fraction, such as `1.0`, is stored as an integer.
    package var prefersIntegers: Bool {
        contains(.integer) && !contains(.number)
    }

    /// The types for messages: `an integer or null`.
    package var phrase: String {
        Self.names.filter { contains($0.type) }.map(\.phrase).joined(separator: " or ")
    }

    /// The value of the keyword `type` for these types.
    package var json: JSONValue {
        let names = Self.names.filter { contains($0.type) }.map { JSONValue.string($0.name) }
        return names.count == 1 ? names[0] : .array(names)
    }
}
