internal import SettingsModel

/// A difference between a program's key and the schema of its suite.
public struct SchemaDifference: Hashable, Sendable, CustomStringConvertible {
    /// The part of a key's description that differs.
    package enum Aspect: Hashable, Sendable {
        /// The schema does not admit the key.
        case key
        /// No value of the program's type is allowed by the schema, nor the other way round.
        case type
        /// Some values are allowed by only one of the two.
        case limits
        /// The default values differ.
        case defaultValue
        /// The value is a secret for only one of the two.
        case secrecy
    }

    /// The key.
    package let key: String
    /// The part that differs.
    package let aspect: Aspect
    /// The difference in a sentence, as `player.volume: the program allows 0...1, the server 0...2`.
    package let sentence: String

    init(_ key: String, _ aspect: Aspect, _ detail: String) {
        self.key = key
        self.aspect = aspect
        sentence = "\(key): \(detail)"
    }

    /// The difference in a sentence, as `player.volume: the program allows 0...1, the server 0...2`.
    public var description: String { sentence }
}

extension Schema {
    /// Compares a program's key with this schema: presence, type, limits, listed values, default and secrecy. Other
    /// rules are compared as they are written. Of a key that is admitted without being listed only the type is
    /// compared.
    func differences(from document: JSONObject, named name: String, isSecret: Bool) -> [SchemaDifference] {
        guard let theirKey = key(name) else {
            let meant = suggestions(for: name, limit: 1).first.map { "; did you mean \($0)?" } ?? ""
            return [SchemaDifference(name, .key, "the server's schema has no such key\(meant)")]
        }
        let own = ComparedRules(of: [.object(document)], in: .object(document))
        let theirs = ComparedRules(
            of: [theirKey.document] + (lists(name) ? patternDocuments(for: name) : []), in: self.document)
        var differences = own.differences(from: theirs).map { SchemaDifference(name, $0, $1) }
        guard lists(name) else { return differences.filter { $0.aspect == .type } }
        if let detail = Self.defaults(document["default"], theirKey, isSecret: isSecret || theirKey.isSecret) {
            differences.append(SchemaDifference(name, .defaultValue, detail))
        }
        if isSecret != theirKey.isSecret {
            let detail =
                isSecret
                ? "a secret for the program, none for the server" : "no secret for the program, one for the server"
            differences.append(SchemaDifference(name, .secrecy, detail))
        }
        return differences
    }

    private static func defaults(_ own: JSONValue?, _ key: KeySchema, isSecret: Bool) -> String? {
        switch (own.map(key.normalized), key.defaultValue) {
        case (nil, nil): return nil
        // The daemon hides the default from a program that may not read the secret.
        case (_, nil) where key.isSecret: return nil
        case (let own?, let theirs?) where own.isMathematicallyEqual(to: theirs): return nil
        case (let own, let theirs):
            if isSecret { return "the program has another default than the server" }
            return "the default of the program is \(own?.briefPhrase ?? "none"), "
                + "that of the server \(theirs?.briefPhrase ?? "none")"
        }
    }
}

/// A collection of the rules of a schema, merged with those that it takes in by `$ref` and `allOf`.
private struct ComparedRules {
    private var types = JSONTypeSet.all
    private var numbers = ComparedRange()
    private var lengths = ComparedRange.counts
    private var counts = ComparedRange.counts
    private var listed: Set<MathematicalJSON>?
    /// All other rules, by keyword.
    private var rest = JSONObject()
    private let root: JSONValue
    /// The number of schemas that may still be read. References can lead to one of them again and again.
    private var budget = 1_000

    init(of schemas: [JSONValue], in root: JSONValue) {
        self.root = root
        for schema in schemas { add(schema) }
        if types.contains(.integer), !types.contains(.number) { numbers.roundToIntegers() }
    }

    /// Takes in a schema that must hold together with those before it.
    private mutating func add(_ schema: JSONValue) {
        budget -= 1
        if schema == false { types = [] }
        guard budget > 0, let object = schema.object else { return }
        for member in object { add(member) }
    }

    private mutating func add(_ rule: JSONObject.Member) {
        let value = rule.value
        switch SchemaKeyword(rawValue: rule.name) {
        case .type: types.formIntersection(JSONTypeSet(naming: value))
        case .enum: list(value.array ?? [])
        case .const: list([value])
        case .minimum, .exclusiveMinimum: numbers.raise(to: value, isIncluded: rule.name == "minimum")
        case .maximum, .exclusiveMaximum: numbers.lower(to: value, isIncluded: rule.name == "maximum")
        case .minLength: lengths.raise(to: value)
        case .maxLength: lengths.lower(to: value)
        case .minItems: counts.raise(to: value)
        case .maxItems: counts.lower(to: value)
        case .reference:
            if let target = value.string.flatMap({ JSONPointer(reference: $0) }).flatMap({ root[$0] }) { add(target) }
        case .allOf:
            for part in value.array ?? [] { add(part) }
        case .anyOf, .oneOf:
            types.formIntersection(types(ofAny: value.array ?? []))
            addToRest(rule)
        case let keyword? where keyword.isAnnotation || rule.name == "uniqueItems" && value == false: break
        case .some: addToRest(rule)
        case nil: break
        }
    }

    private mutating func addToRest(_ rule: JSONObject.Member) {
        rest[rule.name] = rest[rule.name].map { ["allOf": [$0, rule.value]] } ?? rule.value
    }

    private mutating func list(_ values: [JSONValue]) {
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
            rules.budget = budget
            rules.add(alternative)
            budget = rules.budget
            types.formUnion(rules.types)
        }
        return types
    }

    /// Lists the differences in sentences without the key. Of a schema that was too large to be read, lists none.
    func differences(from theirs: ComparedRules) -> [(SchemaDifference.Aspect, String)] {
        if isSilent || budget <= 0 || theirs.budget <= 0 { return [] }
        let common = types.intersection(theirs.types)
        if common.isEmpty {
            return [(.type, "the program reads \(types.kinds), the server holds \(theirs.types.kinds)")]
        }
        var found: [String] = []
        if types != theirs.types { found.append("the program takes \(types.kinds), the server \(theirs.types.kinds)") }
        func compare(_ own: String, _ their: String, _ isDifferent: Bool) {
            if isDifferent { found.append("the program allows \(own), the server \(their)") }
        }
        if listed != theirs.listed {
            // Listed values say all that limits could.
            compare(Self.phrase(listed), Self.phrase(theirs.listed), true)
        } else {
            let kind = common.contains(.number) ? "number" : "integer"
            compare(
                numbers.phrase(ofAny: kind), theirs.numbers.phrase(ofAny: kind),
                common.contains(.integer) && numbers != theirs.numbers)
            compare(
                lengths.phrase(ofCount: "character"), theirs.lengths.phrase(ofCount: "character"),
                common.contains(.string) && lengths != theirs.lengths)
            compare(
                counts.phrase(ofCount: "element"), theirs.counts.phrase(ofCount: "element"),
                common.contains(.array) && counts != theirs.counts)
        }
        if !agree(rest, theirs.rest, in: theirs.root) {
            found.append("other rules of the program and the server differ")
        }
        return found.map { (.limits, $0) }
    }

    /// True if every value is allowed, as by a type that says nothing of its values.
    private var isSilent: Bool {
        types == .all && listed == nil && rest.isEmpty && numbers == ComparedRange() && lengths == .counts
            && counts == .counts
    }

    private static func phrase(_ listed: Set<MathematicalJSON>?) -> String {
        guard let listed else { return "any value" }
        return ValueRules.listing(listed.map(\.value).canonicallySorted())
    }

    /// True if other rules are the same as they are written, apart from annotations. Where the program says nothing of
    /// elements or members, the server may say anything.
    private func agree(_ own: JSONObject, _ theirs: JSONObject, in root: JSONValue) -> Bool {
        let describesParts = own.names.contains { SchemaKeyword(rawValue: $0)?.describesParts ?? false }
        func agree(_ name: String) -> Bool {
            guard let keyword = SchemaKeyword(rawValue: name), !keyword.isAnnotation else { return true }
            switch (own[name], theirs[name], keyword.operand) {
            case (nil, _, _): return keyword.describesParts && !describesParts
            case (let own?, let their, .schema):
                return self.agree(own, their ?? true, in: root)
            case (.array(let own)?, .array(let theirs)?, .schemas):
                return own.count == theirs.count && zip(own, theirs).allSatisfy { self.agree($0, $1, in: root) }
            case (.object(let own)?, .object(let theirs)?, .namedSchemas):
                return own.matches(theirs) { self.agree($0, $1, in: root) }
            case (.array(let own)?, .array(let theirs)?, _):
                return Set(own.map(MathematicalJSON.init)) == Set(theirs.map(MathematicalJSON.init))
            case (let own?, let their, _): return their.map { own.isMathematicallyEqual(to: $0) } ?? false
            }
        }
        return own.names.allSatisfy(agree) && theirs.names.allSatisfy { own[$0] != nil || agree($0) }
    }

    private func agree(_ own: JSONValue, _ theirs: JSONValue, in root: JSONValue) -> Bool {
        guard case .object(let rules) = own else { return own == true || own == theirs }
        var theirs = theirs
        // A chain of references is at most as long as the compiler allows.
        for _ in 0..<64 {
            guard let pointer = theirs["$ref"]?.string.flatMap({ JSONPointer(reference: $0) }) else { break }
            theirs = root[pointer] ?? true
        }
        let isSilent = rules.names.allSatisfy { SchemaKeyword(rawValue: $0)?.isAnnotation ?? true }
        return isSilent || agree(rules, theirs.object ?? [:], in: root)
    }
}

/// A range that limits leave to numbers, or to the number of characters or elements.
private struct ComparedRange: Equatable {
    struct Limit: Equatable {
        let number: JSONNumber
        let isIncluded: Bool
    }

    static let counts = ComparedRange(least: Limit(number: .integer(0), isIncluded: true))

    var least: Limit?
    var greatest: Limit?

    mutating func raise(to value: JSONValue, isIncluded: Bool = true) {
        guard let number = JSONNumber(value) else { return }
        let isStricter = least.map { $0.number == number ? $0.isIncluded : $0.number.isLess(than: number) } ?? true
        if isStricter { least = Limit(number: number, isIncluded: isIncluded) }
    }

    mutating func lower(to value: JSONValue, isIncluded: Bool = true) {
        guard let number = JSONNumber(value) else { return }
        let isStricter = greatest.map { $0.number == number ? $0.isIncluded : number.isLess(than: $0.number) } ?? true
        if isStricter { greatest = Limit(number: number, isIncluded: isIncluded) }
    }

    /// Gives limits of integers one form: included, and none at an end of Int64.
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

    /// Returns the range of numbers as Swift writes it, where Swift has such a range: `0...1`, `..<10`.
    func phrase(ofAny kind: String) -> String {
        let upper = greatest.map { ($0.isIncluded ? "..." : "..<") + "\($0.number.json)" }
        guard let least else { return upper ?? "any \(kind)" }
        if least.isIncluded { return "\(least.number.json)\(upper ?? "...")" }
        guard let greatest else { return "more than \(least.number.json)" }
        return
            "more than \(least.number.json) and \(greatest.isIncluded ? "up to" : "less than") \(greatest.number.json)"
    }

    /// Returns the range of a number of things: `at most 3 elements`.
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
    static let all = JSONTypeSet(rawValue: 127)

    /// The types that the keyword `type` names, integers included where numbers are.
    fileprivate init(naming value: JSONValue) {
        let names = value.array ?? [value]
        self = names.reduce([]) { $0.union($1.string.flatMap(JSONTypeSet.init(name:)) ?? []) }
        if contains(.number) { insert(.integer) }
    }

    /// The type of a value, which for a number without a fraction is integer.
    fileprivate init(of value: JSONValue) {
        let types = Self.names.map(\.type).filter { $0.admits(value) }
        self = types.contains(.integer) ? .integer : types.reduce([]) { $0.union($1) }
        if contains(.number) { insert(.integer) }
    }

    /// The types in a sentence: `an integer or null`.
    fileprivate var kinds: String {
        if self == .all { return "any value" }
        if isEmpty { return "nothing" }
        return (contains(.number) ? subtracting(.integer) : self).phrase
    }
}
