internal import SettingsModel

/// A difference between a program's key and the schema of its suite.
public struct SchemaDifference: Hashable, Sendable, CustomStringConvertible {
    /// The part of a key's description that differs.
    package enum Aspect: Hashable, Sendable {
        /// The schema does not allow the key.
        case key
        /// The schema allows no value of the program's type.
        case type
        /// The types, the limits, the listed values or other rules differ, and at least one type is allowed by both.
        case limits
        /// The default values differ.
        case defaultValue
        /// The value is secret only in the program or only in the schema.
        case secrecy
    }

    package let key: String
    package let aspect: Aspect
    /// The difference in a sentence, for example `player.volume: the program allows 0...1, the server 0...2`.
    package let sentence: String

    init(_ key: String, _ aspect: Aspect, _ detail: String) {
        self.key = key
        self.aspect = aspect
        sentence = "\(key): \(detail)"
    }

    /// The difference in a sentence, for example `player.volume: the program allows 0...1, the server 0...2`.
    public var description: String { sentence }
}

extension Schema {
    /// Compares a program's key with this schema: presence, type, limits, listed values, default and secrecy. Any other
    /// rule counts as different if its JSON differs. If the schema allows the key without listing it, only the type is
    /// compared.
    func differences(from document: JSONObject, named name: String, isSecret: Bool) -> [SchemaDifference] {
        guard let serverKey = key(name) else {
            let suggestion = suggestions(for: name, limit: 1).first.map { "; did you mean \($0)?" } ?? ""
            return [SchemaDifference(name, .key, "the server's schema has no such key\(suggestion)")]
        }
        let own = ComparedRules(of: [.object(document)], in: .object(document))
        // Matching patterns also apply to a listed key, but its document does not contain their rules. The document of
        // an unlisted key already contains them.
        let theirs = ComparedRules(
            of: [serverKey.document] + (lists(name) ? patternDocuments(for: name) : []), in: self.document)
        var differences = own.differences(from: theirs).map { SchemaDifference(name, $0, $1) }
        guard lists(name) else { return differences.filter { $0.aspect == .type } }
        if let detail = Self.defaultDifference(document["default"], serverKey, isSecret: isSecret || serverKey.isSecret)
        {
            differences.append(SchemaDifference(name, .defaultValue, detail))
        }
        if isSecret != serverKey.isSecret {
            let detail =
                isSecret
                ? "the key is a secret for the program, but not for the server"
                : "the key is a secret for the server, but not for the program"
            differences.append(SchemaDifference(name, .secrecy, detail))
        }
        return differences
    }

    private static func defaultDifference(_ own: JSONValue?, _ key: KeySchema, isSecret: Bool) -> String? {
        switch (own.map(key.normalized), key.defaultValue) {
        case (nil, nil): return nil
        // The daemon hides the default from a program that may not read the secret.
        case (_, nil) where key.isSecret: return nil
        case (let own?, let theirs?) where own.isMathematicallyEqual(to: theirs): return nil
        case (let own, let theirs):
            if isSecret { return "the default of the program differs from the default of the server" }
            return "the default of the program is \(own?.briefPhrase ?? "none"), "
                + "the default of the server \(theirs?.briefPhrase ?? "none")"
        }
    }
}

/// The rules of a schema in a form that can be compared, including the rules of the schemas in `allOf` and of the
/// schema to which `$ref` refers.
private struct ComparedRules {
    private var types = JSONTypeSet.all
    private var numbers = ComparedRange()
    private var textLengths = ComparedRange.nonNegative
    private var arrayCounts = ComparedRange.nonNegative
    /// The values that `enum` and `const` allow. Nil if there is no such rule.
    private var listed: Set<MathematicalJSON>?
    /// All other rules, by keyword.
    private var otherRules = JSONObject()
    private let root: JSONValue
    /// The number of schemas that may still be read. This limit is needed because references can form a cycle.
    private var remainingSchemas = 1_000

    init(of schemas: [JSONValue], in root: JSONValue) {
        self.root = root
        for schema in schemas { add(schema) }
        if types.contains(.integer), !types.contains(.number) { numbers.roundToIntegers() }
    }

    /// Adds the rules of a schema. A value must satisfy these rules and all rules that were added before.
    private mutating func add(_ schema: JSONValue) {
        remainingSchemas -= 1
        if schema == false { types = [] }
        guard remainingSchemas > 0, let object = schema.object else { return }
        for member in object { add(member) }
    }

    private mutating func add(_ rule: JSONObject.Member) {
        let value = rule.value
        switch SchemaKeyword(rawValue: rule.name) {
        case .type: types.formIntersection(JSONTypeSet(naming: value))
        case .enum: limit(to: value.array ?? [])
        case .const: limit(to: [value])
        case .minimum, .exclusiveMinimum: numbers.raise(to: value, isIncluded: rule.name == "minimum")
        case .maximum, .exclusiveMaximum: numbers.lower(to: value, isIncluded: rule.name == "maximum")
        case .minLength: textLengths.raise(to: value)
        case .maxLength: textLengths.lower(to: value)
        case .minItems: arrayCounts.raise(to: value)
        case .maxItems: arrayCounts.lower(to: value)
        case .reference:
            if let target = value.string.flatMap({ JSONPointer(reference: $0) }).flatMap({ root[$0] }) { add(target) }
        case .allOf:
            for part in value.array ?? [] { add(part) }
        case .anyOf, .oneOf:
            types.formIntersection(types(ofAny: value.array ?? []))
            addOtherRule(rule)
        case let keyword? where keyword.isAnnotation || rule.name == "uniqueItems" && value == false: break
        case .some: addOtherRule(rule)
        case nil: break
        }
    }

    private mutating func addOtherRule(_ rule: JSONObject.Member) {
        otherRules[rule.name] = otherRules[rule.name].map { ["allOf": [$0, rule.value]] } ?? rule.value
    }

    private mutating func limit(to values: [JSONValue]) {
        var values = Set(values.map(MathematicalJSON.init))
        if let listed {
            for value in values where !listed.contains(value) { values.remove(value) }
        }
        listed = values
        types.formIntersection(values.reduce([]) { $0.union(JSONTypeSet(of: $1.value)) })
    }

    private mutating func types(ofAny alternatives: [JSONValue]) -> JSONTypeSet {
        var types = JSONTypeSet()
        for alternative in alternatives {
            var rules = ComparedRules(of: [], in: root)
            rules.remainingSchemas = remainingSchemas
            rules.add(alternative)
            remainingSchemas = rules.remainingSchemas
            types.formUnion(rules.types)
        }
        return types
    }

    /// Returns the differences between the rules of the program (`self`) and the rules of the server (`theirs`), as
    /// sentences without the name of the key. Returns no differences if the program allows every value, or if a schema
    /// was too large to read.
    func differences(from theirs: ComparedRules) -> [(SchemaDifference.Aspect, String)] {
        if allowsEverything || remainingSchemas <= 0 || theirs.remainingSchemas <= 0 { return [] }
        let common = types.intersection(theirs.types)
        if common.isEmpty {
            return [(.type, "the program stores \(types.kinds), the server \(theirs.types.kinds)")]
        }
        var found: [String] = []
        if types != theirs.types {
            found.append("the program allows \(types.kinds), the server allows \(theirs.types.kinds)")
        }
        func compare(_ ownPhrase: String, _ theirPhrase: String, isDifferent: Bool) {
            if isDifferent { found.append("the program allows \(ownPhrase), the server \(theirPhrase)") }
        }
        if listed != theirs.listed {
            // If the lists of values differ, a comparison of the limits adds no information.
            compare(Self.phrase(listed), Self.phrase(theirs.listed), isDifferent: true)
        } else {
            let kind = common.contains(.number) ? "number" : "integer"
            compare(
                numbers.phrase(ofAny: kind), theirs.numbers.phrase(ofAny: kind),
                isDifferent: common.contains(.integer) && numbers != theirs.numbers)
            compare(
                textLengths.phrase(ofCount: "character"), theirs.textLengths.phrase(ofCount: "character"),
                isDifferent: common.contains(.string) && textLengths != theirs.textLengths)
            compare(
                arrayCounts.phrase(ofCount: "element"), theirs.arrayCounts.phrase(ofCount: "element"),
                isDifferent: common.contains(.array) && arrayCounts != theirs.arrayCounts)
        }
        if !matches(otherRules, theirs.otherRules, in: theirs.root) {
            found.append("rules other than types and limits differ between the program and the server")
        }
        return found.map { (.limits, $0) }
    }

    /// True if the rules allow every value. A `Codable` type without its own schema has such rules.
    private var allowsEverything: Bool {
        types == .all && listed == nil && otherRules.isEmpty && numbers == ComparedRange()
            && textLengths == .nonNegative
            && arrayCounts == .nonNegative
    }

    private static func phrase(_ listed: Set<MathematicalJSON>?) -> String {
        guard let listed else { return "any value" }
        return ValueRules.listing(listed.map(\.value).canonicallySorted())
    }

    /// Returns true if the rules of the program and the server are equal as JSON, apart from annotations and the order
    /// of lists of values. References in nested schemas of the server are followed. If a nested schema of the program
    /// allows everything, or if the program has no rules for elements or members, the rules of the server for the same
    /// part do not count as a difference.
    private func matches(_ own: JSONObject, _ theirs: JSONObject, in root: JSONValue) -> Bool {
        // True if the program has rules for elements or members.
        let describesParts = own.names.contains { SchemaKeyword(rawValue: $0)?.describesParts ?? false }
        func matches(_ name: String) -> Bool {
            guard let keyword = SchemaKeyword(rawValue: name), !keyword.isAnnotation else { return true }
            switch (own[name], theirs[name], keyword.operand) {
            case (nil, _, _): return keyword.describesParts && !describesParts
            case (let ownRule?, let theirRule, .schema):
                return self.matches(ownRule, theirRule ?? true, in: root)
            case (.array(let own)?, .array(let theirs)?, .schemas):
                return own.count == theirs.count && zip(own, theirs).allSatisfy { self.matches($0, $1, in: root) }
            case (.object(let own)?, .object(let theirs)?, .namedSchemas):
                return own.matches(theirs) { self.matches($0, $1, in: root) }
            case (.array(let own)?, .array(let theirs)?, _):
                return Set(own.map(MathematicalJSON.init)) == Set(theirs.map(MathematicalJSON.init))
            case (let ownRule?, let theirRule, _):
                return theirRule.map { ownRule.isMathematicallyEqual(to: $0) } ?? false
            }
        }
        return own.names.allSatisfy(matches) && theirs.names.allSatisfy { own[$0] != nil || matches($0) }
    }

    private func matches(_ own: JSONValue, _ theirs: JSONValue, in root: JSONValue) -> Bool {
        // A schema is an object with rules, `true` (everything is allowed) or `false` (nothing is allowed).
        guard case .object(let rules) = own else { return own == true || own == theirs }
        var theirs = theirs
        // The schema compiler allows at most 64 references in a chain.
        for _ in 0..<64 {
            guard let pointer = theirs["$ref"]?.string.flatMap({ JSONPointer(reference: $0) }) else { break }
            theirs = root[pointer] ?? true
        }
        let allowsEverything = rules.names.allSatisfy { SchemaKeyword(rawValue: $0)?.isAnnotation ?? true }
        return allowsEverything || matches(rules, theirs.object ?? [:], in: root)
    }
}

/// The range of allowed numbers, or of the allowed number of characters or elements.
private struct ComparedRange: Equatable {
    struct Limit: Equatable {
        let number: JSONNumber
        let isIncluded: Bool
    }

    static let nonNegative = ComparedRange(least: Limit(number: .integer(0), isIncluded: true))

    var least: Limit?
    var greatest: Limit?

    /// Replaces the lower limit if the value is stricter.
    mutating func raise(to value: JSONValue, isIncluded: Bool = true) {
        guard let number = JSONNumber(value) else { return }
        let isStricter = least.map { $0.number == number ? $0.isIncluded : $0.number.isLess(than: number) } ?? true
        if isStricter { least = Limit(number: number, isIncluded: isIncluded) }
    }

    /// Replaces the upper limit if the value is stricter.
    mutating func lower(to value: JSONValue, isIncluded: Bool = true) {
        guard let number = JSONNumber(value) else { return }
        let isStricter = greatest.map { $0.number == number ? $0.isIncluded : number.isLess(than: $0.number) } ?? true
        if isStricter { greatest = Limit(number: number, isIncluded: isIncluded) }
    }

    /// Normalizes the limits of integers: replaces exclusive limits by inclusive limits, and removes limits that are
    /// the bounds of Int64.
    mutating func roundToIntegers() {
        if let limit = least, !limit.isIncluded, case .integer(let value) = limit.number, value < .max {
            least = Limit(number: .integer(value + 1), isIncluded: true)
        }
        if let limit = greatest, !limit.isIncluded, case .integer(let value) = limit.number, value > .min {
            greatest = Limit(number: .integer(value - 1), isIncluded: true)
        }
        if least == Limit(number: .integer(.min), isIncluded: true) { least = nil }
        if greatest == Limit(number: .integer(.max), isIncluded: true) { greatest = nil }
    }

    /// Returns the range of numbers in Swift's syntax, such as `0...1` or `..<10`, or in words if Swift has no syntax
    /// for it.
    func phrase(ofAny kind: String) -> String {
        let upper = greatest.map { ($0.isIncluded ? "..." : "..<") + "\($0.number.json)" }
        guard let least else { return upper ?? "any \(kind)" }
        if least.isIncluded { return "\(least.number.json)\(upper ?? "...")" }
        guard let greatest else { return "more than \(least.number.json)" }
        return
            "more than \(least.number.json) and \(greatest.isIncluded ? "up to" : "less than") \(greatest.number.json)"
    }

    /// Returns the range of a count in words, such as `at most 3 elements`.
    func phrase(ofCount thing: String) -> String {
        let (least, greatest) = (least?.number.json.naturalNumber ?? 0, greatest?.number.json.naturalNumber)
        return switch (least, greatest) {
        case (0, nil): "any number of \(thing)s"
        case (0, let greatest?): "at most \(Plural.count(greatest, thing))"
        case (let least, nil): "at least \(Plural.count(least, thing))"
        case (let least, let greatest?): "\(least) to \(Plural.count(greatest, thing))"
        }
    }
}

extension JSONTypeSet {
    /// All seven types.
    static let all = JSONTypeSet(rawValue: 127)

    /// Creates the set of the types that the keyword `type` names. The type `number` includes `integer`.
    fileprivate init(naming value: JSONValue) {
        let names = value.array ?? [value]
        self = names.reduce([]) { $0.union($1.string.flatMap(JSONTypeSet.init(name:)) ?? []) }
        if contains(.number) { insert(.integer) }
    }

    /// Creates the set with the type of a value. The type of a number without a fraction is `integer`.
    fileprivate init(of value: JSONValue) {
        let types = Self.names.map(\.type).filter { $0.admits(value) }
        self = types.contains(.integer) ? .integer : types.reduce([]) { $0.union($1) }
        if contains(.number) { insert(.integer) }
    }

    /// The types in words, such as `an integer or null`.
    fileprivate var kinds: String {
        if self == .all { return "any value" }
        if isEmpty { return "nothing" }
        return (contains(.number) ? subtracting(.integer) : self).phrase
    }
}
