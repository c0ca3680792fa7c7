/// Compiles a schema document into nodes, and collects all problems.
///
/// The compiler keeps a list of pending positions instead of recursing along references, so a long chain of references
/// does not overflow the stack.
struct SchemaCompiler {
    private let document: JSONValue
    /// True for a document that a daemon has stored. Its patterns may have Unicode properties that are no longer
    /// supported.
    private let isStored: Bool
    private(set) var nodes: [SchemaNode] = []
    private(set) var problems: [SchemaError.Problem] = []
    private var nodeIDs: [JSONPointer: SchemaNodeID] = [:]
    /// The schemas to compile. A schema is appended when another schema contains it or refers to it, unless it was
    /// appended before.
    private var pending: [(pointer: JSONPointer, schema: JSONValue)] = []
    /// The schemas with a default, which is checked at the end.
    private var defaults: [(pointer: JSONPointer, node: SchemaNodeID)] = []
    /// The schemas with a problem.
    private var incorrect: Set<SchemaNodeID> = []
    /// The schemas that may refuse valid values because of a problem.
    private var overlyStrict: Set<SchemaNodeID> = []
    /// The schema that is being compiled.
    private var current: SchemaNodeID = 0
    /// The number of states that the remaining patterns of the document may have together.
    private var patternStates = 50_000

    /// The maximum length of a chain of sub-schemas, such as `$ref` and `allOf`, that validate the same value.
    private static let longestChain = 64

    /// The nodes of a document, beginning with the root. Only the nodes of a document without problems are correct.
    struct Result {
        var nodes: [SchemaNode] = []
        var problems: [SchemaError.Problem] = []
        /// True if the schemas have no cycle and no chain that is too long. Otherwise, a validation against the nodes
        /// would not end or would overflow the stack.
        var allowsValidation = false
        fileprivate(set) var nodeIDs: [JSONPointer: SchemaNodeID] = [:]
        fileprivate(set) var incorrect: Set<SchemaNodeID> = []
        fileprivate(set) var overlyStrict: Set<SchemaNodeID> = []
    }

    /// Compiles a document. Continues after a problem, so that the result contains all problems.
    static func result(of document: JSONValue, isStored: Bool = false) -> Result {
        guard document.isNested(atMost: JSONValue.maximumDepth) else {
            let detail = "a schema may nest at most \(JSONValue.maximumDepth) levels deep"
            return Result(problems: [SchemaError.Problem(.root, "schema", detail)])
        }
        var compiler = SchemaCompiler(document: document, isStored: isStored)
        _ = compiler.node(at: .root, document)
        compiler.compilePending()
        var result = Result(
            nodes: compiler.nodes, nodeIDs: compiler.nodeIDs, incorrect: compiler.incorrect,
            overlyStrict: compiler.overlyStrict)
        result.allowsValidation = compiler.reportCycles()
        if result.allowsValidation { compiler.checkDefaults(result) }
        result.problems = compiler.problems
        return result
    }

    /// Compiles a document. Throws if it has problems.
    static func compile(_ document: JSONValue) throws(SchemaError) -> [SchemaNode] {
        let result = result(of: document)
        guard result.problems.isEmpty else { throw SchemaError(result.problems, of: document) }
        return result.nodes
    }

    private init(document: JSONValue, isStored: Bool) {
        self.document = document
        self.isStored = isStored
    }

    /// Returns the node for a position in the document. On the first call for a position, queues the position for
    /// compilation.
    mutating func node(at pointer: JSONPointer, _ schema: JSONValue) -> SchemaNodeID {
        if let known = nodeIDs[pointer] { return known }
        let id = nodes.count
        nodes.append(SchemaNode())
        nodeIDs[pointer] = id
        pending.append((pointer, schema))
        return id
    }

    /// Returns the node that a `$ref` refers to.
    mutating func node(referredToBy reference: String, at location: JSONPointer) -> SchemaNodeID? {
        guard reference.utf8.first == UInt8(ascii: "#") else {
            reportUnsupported(
                location, "$ref",
                "refers to \(reference); a reference must stay within the document, as in #/$defs/name")
            return nil
        }
        guard let pointer = JSONPointer(reference: reference) else {
            reportUnsupported(
                location, "$ref", "must be a JSON pointer after '#', as in #/$defs/name (got \(reference))")
            return nil
        }
        guard let target = document[pointer] else {
            report(location, "$ref", "refers to \(reference), which the document does not contain")
            return nil
        }
        return node(at: pointer, target)
    }

    /// Reports a mistake: the document is not a valid JSON Schema, exceeds a limit, or refuses its own default.
    mutating func report(_ pointer: JSONPointer, _ keyword: String, _ detail: String) {
        markIncorrect(keyword)
        problems.append(SchemaError.Problem(pointer, keyword, "\(keyword) \(detail)"))
    }

    /// Reports a feature of JSON Schema that schemas of settings do not support.
    mutating func reportUnsupported(_ pointer: JSONPointer, _ keyword: String, _ detail: String) {
        markIncorrect(keyword)
        problems.append(SchemaError.Problem(pointer, keyword, "\(keyword) \(detail)", isUnsupported: true))
    }

    /// Marks the current schema as incorrect. A keyword with a problem imposes no rule. A keyword that depends on the
    /// omitted rule may then refuse valid values.
    private mutating func markIncorrect(_ keyword: String) {
        incorrect.insert(current)
        switch SchemaKeyword(rawValue: keyword) {
        case .properties, .patternProperties, .prefixItems, .contains, .minContains, .if: overlyStrict.insert(current)
        default: break
        }
    }

    /// Compiles a pattern. The number of states of all patterns of a document is limited.
    mutating func pattern(_ source: String, at pointer: JSONPointer, _ keyword: String) -> Pattern? {
        // If the limit is exceeded, compile no further pattern, because each pattern takes memory and time.
        guard patternStates >= 0 else { return nil }
        do {
            let pattern = try Pattern(source, allowsAnyProperty: isStored)
            patternStates -= pattern.stateCount
            if patternStates < 0 {
                reportUnsupported(
                    pointer, keyword,
                    "exceeds the size limit for all patterns of the schema together; simplify the patterns")
            }
            return pattern
        } catch {
            let detail =
                "\(JSONValue.string(source)) cannot be used: \(error.reason) (at character \(error.offset + 1))"
            if error.kind == .syntax {
                report(pointer, keyword, detail)
            } else {
                reportUnsupported(pointer, keyword, detail)
            }
            return nil
        }
    }

    private mutating func compilePending() {
        // The compilation of a schema appends its sub-schemas to the list.
        var next = 0
        while next < pending.count {
            let (pointer, schema) = pending[next]
            next += 1
            guard let id = nodeIDs[pointer] else { continue }
            current = id
            nodes[id] = compiled(schema, at: pointer)
            if nodes[id].defaultValue != nil { defaults.append((pointer, id)) }
        }
    }

    private mutating func compiled(_ schema: JSONValue, at pointer: JSONPointer) -> SchemaNode {
        switch schema {
        case .bool(let allows):
            return SchemaNode(refusesAll: !allows)
        case .object(let object):
            let source = SchemaSource(object: object, pointer: pointer)
            refuseUnknownKeywords(source)
            let node = SchemaNode(
                types: types(source), values: ValueRules(source, &self), numbers: NumberRules(source, &self),
                strings: StringRules(source, &self), arrays: ArrayRules(source, &self),
                objects: ObjectRules(source, &self), combination: CombinationRules(source, &self),
                defaultValue: object["default"], isLocked: bool("readOnly", source) ?? false,
                isSecret: bool("writeOnly", source) ?? false)
            checkAnnotations(source)
            return node
        default:
            markIncorrect("schema")
            problems.append(
                SchemaError.Problem(
                    pointer, "schema", "a schema must be an object, true or false (got \(schema.kindPhrase))"))
            return SchemaNode()
        }
    }

    /// Reports unknown keywords, and a `$schema` that names another dialect or is not at the top level.
    private mutating func refuseUnknownKeywords(_ source: SchemaSource) {
        for name in source.object.names where !SchemaKeyword.isKnown(name) {
            reportUnsupported(
                source.pointer.appending(name), name,
                "is not a supported keyword\(SchemaKeyword.hint(for: name))")
        }
        guard let dialect = source.object["$schema"] else { return }
        if source.pointer != .root {
            reportUnsupported(
                source.pointer.appending("$schema"), "$schema", "is allowed only at the top level of the document")
        } else if dialect != .string(Schema.dialect) {
            reportUnsupported(
                source.pointer.appending("$schema"), "$schema",
                "must be \"\(Schema.dialect)\" (got \(dialect.briefPhrase))")
        }
    }

    private mutating func types(_ source: SchemaSource) -> JSONTypeSet? {
        guard let value = source.object["type"] else { return nil }
        var types: JSONTypeSet = []
        let problemCount = problems.count
        let names: [JSONValue] = if case .array(let names) = value { names } else { [value] }
        for name in names {
            guard let text = name.string, let type = JSONTypeSet(name: text) else {
                let suggestion = NameSuggestion.phrase(for: name.string ?? "", among: JSONTypeSet.names.map(\.name))
                report(
                    source.pointer.appending("type"), "type",
                    "names \(name.briefPhrase), which is not a type\(suggestion)"
                )
                continue
            }
            if types.contains(type) { report(source.pointer.appending("type"), "type", "names \(text) twice") }
            types.insert(type)
        }
        if names.isEmpty { report(source.pointer.appending("type"), "type", "must name at least one type") }
        return problems.count == problemCount ? types : nil
    }

    private mutating func checkAnnotations(_ source: SchemaSource) {
        for keyword in ["title", "description", "$comment"] { _ = string(keyword, source) }
        _ = bool("deprecated", source)
        if let examples = source.object["examples"], examples.array == nil {
            report(source.pointer.appending("examples"), "examples", "must be an array (got \(examples.kindPhrase))")
        }
        // Also compiles the definitions to which no `$ref` refers, so that their problems are reported.
        _ = namedSubschemas("$defs", source)
    }

    /// Reports cycles, along which a validation would not end, and chains that would overflow the stack. Returns false
    /// if the document has a cycle or a chain that is too long.
    private mutating func reportCycles() -> Bool {
        var pointers = [JSONPointer](repeating: .root, count: nodes.count)
        for (pointer, id) in nodeIDs { pointers[id] = pointer }
        switch SchemaChains.examine(nodes, longest: Self.longestChain) {
        case .sound: return true
        case .cycle(let id):
            report(pointers[id], "$ref", "refers back to this schema in an endless cycle; remove one of the references")
        case .tooLong(let id):
            report(
                pointers[id], "$ref",
                "leads through more than \(Self.longestChain) schemas; shorten the chain of references")
        }
        return false
    }

    private mutating func checkDefaults(_ result: Result) {
        var steps = SchemaValidator.maximumSteps
        for (pointer, id) in defaults where result.refusesOnlyInvalidValues([id]) {
            guard let value = nodes[id].defaultValue else { continue }
            var validator = SchemaValidator(nodes: nodes, maximumFindings: 1, steps: steps)
            validator.validate(value, against: [id], isSecret: nodes.isSecret([id]))
            steps = validator.steps
            guard steps > 0 else {
                return report(pointer.appending("default"), "default", "takes too long to check; simplify the schema")
            }
            if let violation = validator.findings.first?.violation {
                report(pointer.appending("default"), "default", violation.detailWithLocation)
            }
        }
    }
}

extension SchemaCompiler.Result {
    /// Returns a problem for each `writeOnly` that would have no effect: only `writeOnly` in the schema of a key, or in
    /// a schema that the schema of the key includes by `$ref` or `allOf`, makes the key a secret.
    func nestedSecretProblems() -> [SchemaError.Problem] {
        guard let root = nodes.first, nodes.contains(where: \.isSecret) else { return [] }
        let keys = root.objects?.memberNodes ?? []
        // The sub-schemas in which `writeOnly` has no effect, because no schema of a key includes them.
        var outsideKeys = root.children.filter { !keys.contains($0) }
        for id in nodes.conjunction(of: keys) {
            let included = nodes[id].conjunctiveNodes
            outsideKeys += nodes[id].children.filter { !included.contains($0) }
        }
        let nested = Set(nodes.descendants(of: outsideKeys) + [0])
        var problems: [SchemaError.Problem] = []
        for (location, id) in nodeIDs where nested.contains(id) && nodes[id].isSecret {
            let detail = "writeOnly is allowed only in the schema of a key, because a key is secret as a whole"
            problems.append(
                SchemaError.Problem(location.appending("writeOnly"), "writeOnly", detail, isUnsupported: true))
        }
        return problems
    }

    /// True if none of these schemas refuses a valid value because of a problem in the document.
    ///
    /// A keyword with a problem imposes no rule, so a schema with this keyword allows too many values. The schema
    /// refuses valid values only if one of its rules, such as `not`, refuses values that a sub-schema allows.
    func refusesOnlyInvalidValues(_ ids: [SchemaNodeID]) -> Bool {
        if incorrect.isEmpty { return true }
        let all = nodes.descendants(of: ids)
        return !all.contains(where: incorrect.contains)
            || !all.contains { overlyStrict.contains($0) || nodes[$0].hasNegativeRule }
    }
}
