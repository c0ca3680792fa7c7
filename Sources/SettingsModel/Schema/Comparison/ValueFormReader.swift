/// Reads the form of what a schema allows from its document, which is known to be a schema.
///
/// A schema can refer to itself, and to others so that each way through them is another; so the work is bounded, and
/// what lies beyond the bound is cut off.
struct ValueFormReader {
    /// The document that references lead into.
    private let root: JSONValue
    private var steps = 20_000

    private static let deepest = 48

    init(in root: JSONValue) {
        self.root = root
    }

    /// The form of one schema of the document.
    mutating func form(of schema: JSONValue) -> ValueForm {
        form(of: schema, depth: 0)
    }

    private mutating func form(of schema: JSONValue, depth: Int) -> ValueForm {
        steps -= 1
        guard steps > 0, depth < Self.deepest else { return ValueForm(isCut: true) }
        switch schema {
        case .bool(false): return .none
        case .object(let object): return form(of: object, depth: depth + 1)
        default: return .any
        }
    }

    private mutating func form(of object: JSONObject, depth: Int) -> ValueForm {
        var form = ValueForm()
        if let types = object["type"] { form.types = Self.types(types) }
        if let values = object["enum"]?.array { form.listed = Set(values.map(MathematicalJSON.init)) }
        if let value = object["const"] {
            form.formIntersection(ValueForm(listed: [MathematicalJSON(value)]))
        }
        form.numbers = Self.numbers(object)
        form.strings = Self.strings(object)
        form.counts = Self.counts(object, "minItems", "maxItems")
        form.isUnique = object["uniqueItems"]?.bool ?? false
        let elements = arrayForm(object, depth: depth)
        if !elements.isTrivial { form.arrays = [elements] }
        let members = objectForm(object, depth: depth)
        if !members.isTrivial { form.objects = [members] }
        readCombinations(object, depth: depth, into: &form)
        form.rest.formUnion(Self.rest(of: object))
        return form.reduced()
    }

    private mutating func readCombinations(_ object: JSONObject, depth: Int, into form: inout ValueForm) {
        if let reference = object["$ref"]?.string {
            let target = PercentEncoding.decoded(reference.utf8.dropFirst()).flatMap { JSONPointer($0) }
            if let schema = target.flatMap({ root[$0] }) {
                form.formIntersection(self.form(of: schema, depth: depth))
            }
        }
        for schema in object["allOf"]?.array ?? [] { form.formIntersection(self.form(of: schema, depth: depth)) }
        for keyword in ["anyOf", "oneOf"] {
            guard let schemas = object[keyword]?.array else { continue }
            var alternatives: [ValueForm] = []
            for schema in schemas { alternatives.append(self.form(of: schema, depth: depth)) }
            alternatives.removeAll { $0.types.isEmpty && !$0.isCut }
            if let union = ValueForm(uniting: alternatives) {
                form.formIntersection(union)
            } else if keyword == "oneOf" {
                // One and only one: that two fit is then no matter of which values each allows.
                form.rest.insert(MathematicalJSON(["oneOf": .array(schemas)]))
            } else {
                let types = alternatives.reduce(JSONTypeSet([])) { $0.union($1.types) }
                form.formIntersection(ValueForm(types: types, choices: [Set(alternatives)]))
            }
        }
    }

    private mutating func arrayForm(_ object: JSONObject, depth: Int) -> ArrayForm {
        var elements = ArrayForm()
        for schema in object["prefixItems"]?.array ?? [] { elements.first.append(form(of: schema, depth: depth)) }
        if let items = object["items"] { elements.others = form(of: items, depth: depth) }
        while let last = elements.first.last, last == elements.others { elements.first.removeLast() }
        return elements
    }

    private mutating func objectForm(_ object: JSONObject, depth: Int) -> ObjectForm {
        var members = ObjectForm()
        // Patterns say which of the members are others, so with them nothing else is known of those.
        guard object["patternProperties"] == nil else { return members }
        if let others = object["additionalProperties"] { members.others = form(of: others, depth: depth) }
        for member in object["properties"]?.object ?? [:] {
            let own = form(of: member.value, depth: depth)
            if own != members.others { members.named[UTF8Text(member.name)] = own }
        }
        members.required = Set((object["required"]?.array ?? []).compactMap { $0.string.map(UTF8Text.init) })
        return members
    }
}

/// Keywords by themselves.
extension ValueFormReader {
    private static func types(_ value: JSONValue) -> JSONTypeSet {
        let names = value.array ?? [value]
        let types = names.compactMap { $0.string.flatMap(JSONTypeSet.init(name:)) }
        return types.reduce(JSONTypeSet([])) { $0.union($1) }.withIntegersOfNumbers
    }

    private static func numbers(_ object: JSONObject) -> NumberForm {
        func limit(_ keyword: String, isIncluded: Bool) -> NumberForm.Limit? {
            object[keyword].flatMap(JSONNumber.init).map { NumberForm.Limit(number: $0, isIncluded: isIncluded) }
        }
        var numbers = NumberForm()
        for (keyword, isIncluded) in [("minimum", true), ("exclusiveMinimum", false)] {
            if let limit = limit(keyword, isIncluded: isIncluded) { numbers.raise(to: limit) }
        }
        for (keyword, isIncluded) in [("maximum", true), ("exclusiveMaximum", false)] {
            if let limit = limit(keyword, isIncluded: isIncluded) { numbers.lower(to: limit) }
        }
        if let step = object["multipleOf"].flatMap(JSONNumber.init) { numbers.steps = [step] }
        return numbers
    }

    private static func strings(_ object: JSONObject) -> StringForm {
        var strings = StringForm()
        strings.lengths = counts(object, "minLength", "maxLength")
        if let pattern = object["pattern"]?.string { strings.patterns = [UTF8Text(pattern)] }
        if let format = object["format"]?.string { strings.formats = [UTF8Text(format)] }
        strings.isBase64 = object["contentEncoding"] != nil
        return strings
    }

    private static func counts(_ object: JSONObject, _ least: String, _ greatest: String) -> CountForm {
        func count(_ keyword: String) -> Int? {
            object[keyword]?.number.flatMap { Int(exactly: $0) }
        }
        return CountForm(least: count(least) ?? 0, greatest: count(greatest))
    }

    /// What is compared as it is written: each keyword with those that belong to it.
    private static func rest(of object: JSONObject) -> Set<MathematicalJSON> {
        let together = [
            ["contains", "minContains", "maxContains"], ["if", "then", "else"], ["not"], ["propertyNames"],
            ["patternProperties", "properties", "additionalProperties", "required"], ["dependentRequired"],
            ["dependentSchemas"], ["minProperties"], ["maxProperties"],
        ]
        var rest: Set<MathematicalJSON> = []
        for keywords in together where object[keywords[0]] != nil {
            var part = JSONObject()
            for keyword in keywords { part[keyword] = object[keyword] }
            rest.insert(MathematicalJSON(.object(part)))
        }
        return rest
    }
}
