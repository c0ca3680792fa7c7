/// The rules for objects and their members.
final class ObjectRules: Sendable {
    let properties: [UTF8Text: SchemaNodeID]
    let patternProperties: [(pattern: Pattern, node: SchemaNodeID)]
    let additionalProperties: SchemaNodeID?
    private let propertyNames: SchemaNodeID?
    private let required: [String]
    private let dependentRequired: [(name: String, strings: [String])]
    let dependentSchemas: [(name: String, node: SchemaNodeID)]
    private let minProperties: Int?
    private let maxProperties: Int?

    init?(_ source: SchemaSource, _ compiler: inout SchemaCompiler) {
        let listed = compiler.namedSubschemas("properties", source) ?? []
        properties = Dictionary(listed.map { (UTF8Text($0.name), $0.node) }) { first, _ in first }
        patternProperties = Self.patternProperties(source, &compiler)
        additionalProperties = compiler.subschema("additionalProperties", source)
        propertyNames = compiler.subschema("propertyNames", source)
        required = compiler.strings("required", source) ?? []
        dependentRequired = compiler.namedStrings("dependentRequired", source) ?? []
        dependentSchemas = compiler.namedSubschemas("dependentSchemas", source) ?? []
        minProperties = compiler.count("minProperties", source)
        maxProperties = compiler.count("maxProperties", source)
        if isTrivial { return nil }
    }

    /// The rules without those for each member, which a suite's keys have for themselves; for defaults also without
    /// those that demand more members.
    init?(ofSuiteFrom rules: ObjectRules, forDefaults: Bool) {
        properties = [:]
        patternProperties = []
        additionalProperties = nil
        propertyNames = rules.propertyNames
        required = forDefaults ? [] : rules.required
        dependentRequired = rules.dependentRequired
        dependentSchemas = rules.dependentSchemas
        minProperties = forDefaults ? nil : rules.minProperties
        maxProperties = rules.maxProperties
        if isTrivial { return nil }
    }

    /// Whether nothing is demanded.
    private var isTrivial: Bool {
        properties.isEmpty && patternProperties.isEmpty && additionalProperties == nil && propertyNames == nil
            && required.isEmpty && dependentRequired.isEmpty && dependentSchemas.isEmpty && minProperties == nil
            && maxProperties == nil
    }

    /// All schemas that take part.
    var nodes: [SchemaNodeID] {
        memberNodes + dependentSchemas.map(\.node) + [propertyNames].compactMap { $0 }
    }

    /// Those for the values of members.
    var memberNodes: [SchemaNodeID] {
        Array(properties.values) + patternProperties.map(\.node) + [additionalProperties].compactMap { $0 }
    }

    func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        guard case .object(let object) = value else { return }
        checkNames(value, object, &validator)
        for member in object {
            if validator.isSettled { return }
            checkMember(member, &validator)
        }
        for (name, node) in dependentSchemas where object[name] != nil {
            if validator.isSettled { return }
            validator.check(value, node)
        }
    }

    /// The schemas for the member of a name. `matches` decides patterns and may count what that costs.
    func nodes(for name: String, matches: (Pattern) -> Bool) -> [SchemaNodeID] {
        var nodes: [SchemaNodeID] = []
        if let listed = properties[UTF8Text(name)] { nodes.append(listed) }
        for (pattern, node) in patternProperties where matches(pattern) { nodes.append(node) }
        if nodes.isEmpty, let additionalProperties { nodes.append(additionalProperties) }
        return nodes
    }

    private func checkMember(_ member: JSONObject.Member, _ validator: inout SchemaValidator) {
        if let propertyNames { validator.checkName(member.name, propertyNames) }
        for node in nodes(for: member.name, matches: { validator.matches(member.name, $0) }) {
            if node == additionalProperties, validator.refusesAll(node) {
                let hint = validator.suggestion(for: member.name, among: properties.keys.lazy.map(\.string))
                validator.fail(at: .name(member.name), "additionalProperties", "is not a known member\(hint)")
            } else {
                validator.descend(to: .name(member.name), member.value, node)
            }
        }
    }

    private func checkNames(_ value: JSONValue, _ object: JSONObject, _ validator: inout SchemaValidator) {
        for name in required {
            guard validator.spend(1), !validator.isSettled else { return }
            if object[name] != nil { continue }
            validator.fail("required", "must have \(name)", value, butWhat: nil, expected: .string(name))
        }
        for (name, needed) in dependentRequired where object[name] != nil {
            for other in needed {
                guard validator.spend(1), !validator.isSettled else { return }
                if object[other] != nil { continue }
                validator.fail(
                    "dependentRequired", "must have \(other), because it has \(name)", value, butWhat: nil,
                    expected: .string(other))
            }
        }
        if let minProperties, object.count < minProperties {
            validator.fail(
                "minProperties", "must have at least \(Plural.count(minProperties, "member"))", value,
                butWhat: "has \(object.count)", expected: .integer(Int64(minProperties)))
        }
        if let maxProperties, object.count > maxProperties {
            validator.fail(
                "maxProperties", "must have at most \(Plural.count(maxProperties, "member"))", value,
                butWhat: "has \(object.count)", expected: .integer(Int64(maxProperties)))
        }
    }

    private static func patternProperties(
        _ source: SchemaSource, _ compiler: inout SchemaCompiler
    ) -> [(pattern: Pattern, node: SchemaNodeID)] {
        var compiled: [(pattern: Pattern, node: SchemaNodeID)] = []
        for (text, node) in compiler.namedSubschemas("patternProperties", source) ?? [] {
            let pointer = source.pointer.appending("patternProperties").appending(text)
            if let pattern = compiler.pattern(text, at: pointer, "patternProperties") {
                compiled.append((pattern, node))
            }
        }
        return compiled
    }
}
