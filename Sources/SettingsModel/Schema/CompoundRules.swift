// Each `init?` with a `SchemaSource` reads its keywords from a schema object, and returns nil if it finds no rule. The
// validator collects violations (`fail`), has a budget of steps (`spend`), and has the property `isSettled`, which is
// true if further checks cannot change the result.

/// The rules for arrays and their elements.
final class ArrayRules: Sendable {
    let prefixItems: [SchemaNodeID]
    let items: SchemaNodeID?
    private let contains: SchemaNodeID?
    private let minContains: Int
    private let maxContains: Int?
    private let count: CountRule?
    private let isUnique: Bool

    init?(_ source: SchemaSource, _ compiler: inout SchemaCompiler) {
        prefixItems = compiler.subschemas("prefixItems", source)
        items = compiler.subschema("items", source)
        contains = compiler.subschema("contains", source)
        minContains = compiler.count("minContains", source) ?? 1
        maxContains = compiler.count("maxContains", source)
        count = CountRule("minItems", "maxItems", of: "element", source, &compiler)
        isUnique = compiler.bool("uniqueItems", source) ?? false
        if prefixItems.isEmpty, items == nil, contains == nil, count == nil, !isUnique { return nil }
    }

    /// The sub-schemas of all keywords.
    var nodes: [SchemaNodeID] {
        prefixItems + [items, contains].compactMap { $0 }
    }

    /// True if an array can be refused because some of its elements are valid under a sub-schema, as with
    /// `maxContains`.
    var hasNegativeRule: Bool {
        maxContains != nil
    }

    /// Returns the sub-schema of the element at a position; nil if no sub-schema applies.
    func node(at index: Int) -> SchemaNodeID? {
        index < prefixItems.count ? prefixItems[index] : items
    }

    func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        guard case .array(let elements) = value else { return }
        count?.check(elements.count, value, &validator)
        if isUnique { checkUnique(elements, &validator) }
        for (index, element) in elements.enumerated() {
            guard let node = node(at: index) else { break }
            if validator.isSettled { return }
            validator.descend(to: .index(index), element, node)
        }
        if let contains { checkContains(value, elements, contains, &validator) }
    }

    private func checkUnique(_ elements: [JSONValue], _ validator: inout SchemaValidator) {
        var seen: Set<MathematicalJSON> = []
        for (index, element) in elements.enumerated() {
            guard validator.spend(element.extent) else { return }
            if !seen.insert(MathematicalJSON(element)).inserted {
                let first = elements.firstIndex { $0.isMathematicallyEqual(to: element) } ?? 0
                validator.fail(
                    "uniqueItems", "must not repeat an element", .array(elements),
                    found: "equal elements at the indexes \(first) and \(index)", expected: true)
                return
            }
        }
    }

    private func checkContains(
        _ value: JSONValue, _ elements: [JSONValue], _ node: SchemaNodeID, _ validator: inout SchemaValidator
    ) {
        var count = 0
        for element in elements where validator.isValid(element, node) { count += 1 }
        if count < minContains {
            validator.fail(
                minContains == 1 ? "contains" : "minContains",
                "must contain at least \(Plural.count(minContains, "element")) valid under the keyword contains",
                value,
                found: String(count), expected: .integer(Int64(minContains)))
        }
        if let maxContains, count > maxContains {
            validator.fail(
                "maxContains",
                "must contain at most \(Plural.count(maxContains, "element")) valid under the keyword contains",
                value,
                found: String(count), expected: .integer(Int64(maxContains)))
        }
    }
}

/// The rules for objects and their members.
final class ObjectRules: Sendable {
    let properties: [UTF8Text: SchemaNodeID]
    let patternProperties: [(pattern: Pattern, node: SchemaNodeID)]
    let additionalProperties: SchemaNodeID?
    private let propertyNames: SchemaNodeID?
    private let required: [String]
    private let dependentRequired: [(name: String, strings: [String])]
    let dependentSchemas: [(name: String, node: SchemaNodeID)]
    private let count: CountRule?
    /// True if `minProperties` is checked. False for the rules about the defaults of a suite, because keys without a
    /// default may be missing.
    private let checksMinimumCount: Bool

    init?(_ source: SchemaSource, _ compiler: inout SchemaCompiler) {
        var properties: [UTF8Text: SchemaNodeID] = [:]
        for (name, node) in compiler.namedSubschemas("properties", source) { properties[UTF8Text(name)] = node }
        self.properties = properties
        patternProperties = compiler.namedSubschemas("patternProperties", source).compactMap { text, node in
            let pointer = source.pointer.appending("patternProperties").appending(text)
            return compiler.pattern(text, at: pointer, "patternProperties").map { ($0, node) }
        }
        additionalProperties = compiler.subschema("additionalProperties", source)
        propertyNames = compiler.subschema("propertyNames", source)
        required = compiler.strings("required", source) ?? []
        dependentRequired = compiler.namedStrings("dependentRequired", source)
        dependentSchemas = compiler.namedSubschemas("dependentSchemas", source)
        count = CountRule("minProperties", "maxProperties", of: "member", source, &compiler)
        checksMinimumCount = true
        if hasNoRules { return nil }
    }

    /// Makes the rules about a suite as a whole: the rules of its schema without the sub-schemas of single keys. With
    /// `forDefaults`, the rules also omit `required` and `minProperties`.
    init?(ofSuiteFrom rules: ObjectRules, forDefaults: Bool) {
        properties = [:]
        patternProperties = []
        additionalProperties = nil
        propertyNames = rules.propertyNames
        required = forDefaults ? [] : rules.required
        dependentRequired = rules.dependentRequired
        dependentSchemas = rules.dependentSchemas
        count = rules.count
        checksMinimumCount = !forDefaults
        if hasNoRules { return nil }
    }

    private var hasNoRules: Bool {
        memberNodes.isEmpty && propertyNames == nil && required.isEmpty && dependentRequired.isEmpty
            && dependentSchemas.isEmpty && count == nil
    }

    /// The sub-schemas of all keywords.
    var nodes: [SchemaNodeID] {
        memberNodes + dependentSchemas.map(\.node) + [propertyNames].compactMap { $0 }
    }

    /// The sub-schemas of members.
    var memberNodes: [SchemaNodeID] {
        Array(properties.values) + patternProperties.map(\.node) + [additionalProperties].compactMap { $0 }
    }

    /// The names of the members that the rules use. The list is complete only if ``allMembersKeyword`` is nil.
    var names: [String] {
        properties.keys.map(\.string) + required + dependentRequired.flatMap { [$0.name] + $0.strings }
            + dependentSchemas.map(\.name)
    }

    /// A keyword that must be checked on all members; nil if the rules have no such keyword.
    var allMembersKeyword: String? {
        if count != nil { return "minProperties or maxProperties" }
        if propertyNames != nil { return "propertyNames" }
        if !patternProperties.isEmpty { return "patternProperties" }
        return additionalProperties == nil ? nil : "additionalProperties"
    }

    /// Returns the sub-schemas of a member. `matches` must return whether a pattern matches the name.
    func nodes(for name: String, matches: (Pattern) -> Bool) -> [SchemaNodeID] {
        var nodes: [SchemaNodeID] = []
        if let listed = properties[UTF8Text(name)] { nodes.append(listed) }
        for (pattern, node) in patternProperties where matches(pattern) { nodes.append(node) }
        if nodes.isEmpty, let additionalProperties { nodes.append(additionalProperties) }
        return nodes
    }

    func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        guard case .object(let object) = value else { return }
        for name in required {
            guard checkRequiredMember(name, of: object, value, &validator) else { return }
        }
        for (name, needed) in dependentRequired where object[name] != nil {
            for other in needed {
                guard checkRequiredMember(other, because: name, of: object, value, &validator) else { return }
            }
        }
        count?.check(object.count, value, checksMinimum: checksMinimumCount, &validator)
        for member in object {
            if validator.isSettled { return }
            checkMember(member, &validator)
        }
        for (name, node) in dependentSchemas where object[name] != nil {
            if validator.isSettled { return }
            validator.check(value, node)
        }
    }

    /// Checks that the object has a required member. Returns false if further checks cannot change the result of the
    /// validation.
    @inline(never)
    private func checkRequiredMember(
        _ name: String, because other: String? = nil, of object: JSONObject, _ value: JSONValue,
        _ validator: inout SchemaValidator
    ) -> Bool {
        guard !validator.isSettled, validator.spend(1) else { return false }
        if object[name] == nil {
            validator.fail(
                other == nil ? "required" : "dependentRequired",
                "must have \(name)\(other.map { ", because \($0) is present" } ?? "")", value, found: nil,
                expected: .string(name))
        }
        return true
    }

    private func checkMember(_ member: JSONObject.Member, _ validator: inout SchemaValidator) {
        if let propertyNames { validator.checkName(member.name, propertyNames) }
        for node in nodes(for: member.name, matches: { validator.matches(member.name, $0) }) {
            if node == additionalProperties, validator.nodes[node].refusesAll {
                let hint = validator.suggestion(for: member.name, among: properties.keys.lazy.map(\.string))
                validator.fail(at: .name(member.name), "additionalProperties", "the schema has no such member\(hint)")
            } else {
                validator.descend(to: .name(member.name), member.value, node)
            }
        }
    }
}

/// The rules that combine sub-schemas: `$ref`, `allOf`, `anyOf`, `oneOf`, `not`, `if`, `then` and `else`.
final class CombinationRules: Sendable {
    let reference: SchemaNodeID?
    let allOf: [SchemaNodeID]
    private let anyOf: [SchemaNodeID]
    private let oneOf: [SchemaNodeID]
    private let not: SchemaNodeID?
    private let condition: SchemaNodeID?
    private let consequence: SchemaNodeID?
    private let alternative: SchemaNodeID?

    init?(_ source: SchemaSource, _ compiler: inout SchemaCompiler) {
        reference = compiler.string("$ref", source).flatMap {
            compiler.node(referredToBy: $0, at: source.pointer.appending("$ref"))
        }
        allOf = compiler.subschemas("allOf", source)
        anyOf = compiler.subschemas("anyOf", source)
        oneOf = compiler.subschemas("oneOf", source)
        not = compiler.subschema("not", source)
        condition = compiler.subschema("if", source)
        consequence = compiler.subschema("then", source)
        alternative = compiler.subschema("else", source)
        if nodes.isEmpty { return nil }
    }

    /// The sub-schemas of all keywords.
    var nodes: [SchemaNodeID] {
        allOf + anyOf + oneOf + [reference, not, condition, consequence, alternative].compactMap { $0 }
    }

    /// True if a value can be refused because it is valid under a sub-schema, as with `not`.
    var hasNegativeRule: Bool {
        !oneOf.isEmpty || not != nil || condition != nil
    }

    func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        if let reference { validator.check(value, reference) }
        for node in allOf {
            if validator.isSettled { return }
            validator.check(value, node)
        }
        if !anyOf.isEmpty, !anyOf.contains(where: { validator.isValid(value, $0) }) {
            failAlternatives("anyOf", anyOf, value, &validator)
        }
        if !oneOf.isEmpty { checkOneOf(value, &validator) }
        if let not, validator.isValid(value, not) {
            validator.fail("not", "must not match the schema of the keyword not")
        }
        if let condition, let branch = validator.isValid(value, condition) ? consequence : alternative {
            validator.check(value, branch)
        }
    }

    private func checkOneOf(_ value: JSONValue, _ validator: inout SchemaValidator) {
        let matching = oneOf.indices.filter { validator.isValid(value, oneOf[$0]) }
        if matching.isEmpty {
            failAlternatives("oneOf", oneOf, value, &validator)
        } else if matching.count > 1 {
            let indices = matching.map(String.init).joined(separator: " and ")
            validator.fail(
                "oneOf", "must match exactly one of \(oneOf.count) alternatives (got \(indices), counted from 0)")
        }
    }

    /// Adds a violation for a value that is not valid under any alternative. If there are few alternatives, the message
    /// contains the reason of each alternative.
    private func failAlternatives(
        _ keyword: String, _ nodes: [SchemaNodeID], _ value: JSONValue, _ validator: inout SchemaValidator
    ) {
        let maximumExplained = 4
        let explained = nodes.count > maximumExplained ? [] : nodes
        let reasons = explained.compactMap { validator.firstReason(value, $0) }
        let because = reasons.isEmpty ? "" : ": " + reasons.joined(separator: ", or ")
        validator.fail(keyword, "must match one of \(Plural.count(nodes.count, "alternative"))\(because)")
    }
}
