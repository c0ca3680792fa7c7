/// The rules for arrays and their elements.
final class ArrayRules: Sendable {
    let prefixItems: [SchemaNodeID]
    let items: SchemaNodeID?
    private let contains: SchemaNodeID?
    private let minContains: Int
    private let maxContains: Int?
    private let minItems: Int?
    private let maxItems: Int?
    private let isUnique: Bool

    init?(_ source: SchemaSource, _ compiler: inout SchemaCompiler) {
        prefixItems = compiler.subschemas("prefixItems", source) ?? []
        items = compiler.subschema("items", source)
        contains = compiler.subschema("contains", source)
        minContains = compiler.count("minContains", source) ?? 1
        maxContains = compiler.count("maxContains", source)
        minItems = compiler.count("minItems", source)
        maxItems = compiler.count("maxItems", source)
        isUnique = compiler.bool("uniqueItems", source) ?? false
        if prefixItems.isEmpty, items == nil, contains == nil, minItems == nil, maxItems == nil, !isUnique {
            return nil
        }
    }

    /// All schemas that take part.
    var nodes: [SchemaNodeID] {
        prefixItems + [items, contains].compactMap { $0 }
    }

    /// Whether an array may be refused because elements of it fit a schema.
    var counts: Bool {
        maxContains != nil
    }

    func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        guard case .array(let elements) = value else { return }
        checkCount(value, elements.count, &validator)
        if isUnique { checkUnique(elements, &validator) }
        for (index, element) in elements.enumerated() {
            guard let node = node(at: index) else { break }
            if validator.isSettled { return }
            validator.descend(to: .index(index), element, node)
        }
        if let contains { checkContains(value, elements, contains, &validator) }
    }

    /// The schema for the element at a position, if there is one for it.
    func node(at index: Int) -> SchemaNodeID? {
        index < prefixItems.count ? prefixItems[index] : items
    }

    private func checkCount(_ value: JSONValue, _ count: Int, _ validator: inout SchemaValidator) {
        if let minItems, count < minItems {
            validator.fail(
                "minItems", "must have at least \(Plural.count(minItems, "element"))", value,
                butWhat: "has \(count)", expected: .integer(Int64(minItems)))
        }
        if let maxItems, count > maxItems {
            validator.fail(
                "maxItems", "must have at most \(Plural.count(maxItems, "element"))", value,
                butWhat: "has \(count)", expected: .integer(Int64(maxItems)))
        }
    }

    private func checkUnique(_ elements: [JSONValue], _ validator: inout SchemaValidator) {
        var seen: [MathematicalJSON: Int] = [:]
        for (index, element) in elements.enumerated() {
            guard validator.spend(element.extent) else { return }
            if let first = seen.updateValue(index, forKey: MathematicalJSON(element)) {
                validator.fail(
                    "uniqueItems", "must not repeat an element", .array(elements),
                    butWhat: "has the same at \(first) and \(index)", expected: true)
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
                "must contain at least \(Plural.count(minContains, "fitting element"))", value,
                butWhat: "contains \(count)", expected: .integer(Int64(minContains)))
        }
        if let maxContains, count > maxContains {
            validator.fail(
                "maxContains", "must contain at most \(Plural.count(maxContains, "fitting element"))", value,
                butWhat: "contains \(count)", expected: .integer(Int64(maxContains)))
        }
    }
}
