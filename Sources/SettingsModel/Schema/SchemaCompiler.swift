/// Turns a schema document into nodes, noting everything that is wrong with it.
///
/// Works on a list of places still to be compiled rather than by recursion along references, so that a long chain of
/// them costs no stack.
struct SchemaCompiler {
    private let document: JSONValue
    private(set) var nodes: [SchemaNode] = []
    private(set) var problems: [SchemaError.Problem] = []
    private var nodeIDs: [JSONPointer: SchemaNodeID] = [:]
    private var pending: [(pointer: JSONPointer, schema: JSONValue)] = []
    private var defaults: [(pointer: JSONPointer, node: SchemaNodeID)] = []
    /// What all patterns of the document together may still take.
    private var patternStates = 50_000

    /// How many schemas may judge one value one inside the other by way of `$ref`, `allOf` and the like.
    private static let longestChain = 64

    /// Compiles the document; its own node is the first.
    static func compile(_ document: JSONValue) throws(SchemaError) -> [SchemaNode] {
        guard document.isNested(atMost: JSONValue.maximumDepth) else {
            let detail = "a schema may nest at most \(JSONValue.maximumDepth) levels deep"
            throw SchemaError(problems: [SchemaError.Problem(.root, "schema", detail)])
        }
        var compiler = SchemaCompiler(document: document)
        _ = compiler.node(at: .root, document)
        compiler.compilePending()
        if compiler.problems.isEmpty { compiler.refuseCircles() }
        if compiler.problems.isEmpty { compiler.checkDefaults() }
        guard compiler.problems.isEmpty else { throw SchemaError(compiler.problems, of: document) }
        return compiler.nodes
    }

    private init(document: JSONValue) {
        self.document = document
    }

    /// The node for a schema at a place of the document, which is compiled in its turn.
    mutating func node(at pointer: JSONPointer, _ schema: JSONValue) -> SchemaNodeID {
        if let known = nodeIDs[pointer] { return known }
        let id = nodes.count
        nodes.append(SchemaNode())
        nodeIDs[pointer] = id
        pending.append((pointer, schema))
        return id
    }

    /// The node that a `$ref` leads to.
    mutating func node(referredToBy reference: String, at place: JSONPointer) -> SchemaNodeID? {
        guard reference.utf8.first == UInt8(ascii: "#") else {
            unsupported(place, "$ref", "refers to \(reference); only places in this document can be, as #/$defs/name")
            return nil
        }
        guard let text = PercentEncoding.decoded(reference.utf8.dropFirst()), let pointer = JSONPointer(text) else {
            unsupported(place, "$ref", "must be a JSON pointer after '#', as #/$defs/name, but is \(reference)")
            return nil
        }
        guard let target = document[pointer] else {
            report(place, "$ref", "refers to \(reference), but there is nothing at that place")
            return nil
        }
        return node(at: pointer, target)
    }

    /// Notes something that is wrong.
    mutating func report(_ pointer: JSONPointer, _ keyword: String, _ detail: String) {
        problems.append(SchemaError.Problem(pointer, keyword, "\(keyword) \(detail)"))
    }

    /// Notes something that JSON Schema has and these schemas have not.
    mutating func unsupported(_ pointer: JSONPointer, _ keyword: String, _ detail: String) {
        problems.append(SchemaError.Problem(pointer, keyword, "\(keyword) \(detail)", isUnsupported: true))
    }

    /// Compiles a pattern within what all of them may take.
    mutating func pattern(_ source: String, at pointer: JSONPointer, _ keyword: String) -> Pattern? {
        do {
            let pattern = try Pattern(source)
            patternStates -= pattern.stateCount
            if patternStates < 0 {
                unsupported(pointer, keyword, "makes the patterns of this schema too large together")
            }
            return pattern
        } catch {
            let detail =
                "\(JSONValue.string(source)) cannot be used: \(error.reason) (at character \(error.offset + 1))"
            if error.kind == .syntax {
                report(pointer, keyword, detail)
            } else {
                unsupported(pointer, keyword, detail)
            }
            return nil
        }
    }

    private mutating func compilePending() {
        // Compiling adds to the list: what is found later is taken later.
        var next = 0
        while next < pending.count {
            let (pointer, schema) = pending[next]
            next += 1
            guard let id = nodeIDs[pointer] else { continue }
            nodes[id] = compiled(schema, at: pointer)
            if nodes[id].defaultValue != nil { defaults.append((pointer, id)) }
        }
    }

    private mutating func compiled(_ schema: JSONValue, at pointer: JSONPointer) -> SchemaNode {
        var node = SchemaNode()
        switch schema {
        case .bool(let allows):
            node.refusesAll = !allows
        case .object(let object):
            let source = SchemaSource(object: object, pointer: pointer)
            refuseUnknownKeywords(source)
            node.types = types(source)
            node.values = ValueRules(source, &self)
            node.numbers = NumberRules(source, &self)
            node.strings = StringRules(source, &self)
            node.arrays = ArrayRules(source, &self)
            node.objects = ObjectRules(source, &self)
            node.combination = CombinationRules(source, &self)
            annotate(&node, source)
        default:
            problems.append(
                SchemaError.Problem(
                    pointer, "schema", "a schema must be an object, true or false, but is \(schema.kindPhrase)"))
        }
        return node
    }

    private mutating func refuseUnknownKeywords(_ source: SchemaSource) {
        for name in source.object.names where !SchemaKeyword.isKnown(name) {
            unsupported(
                source.pointer.appending(name), name,
                "is not a keyword of these schemas\(SchemaKeyword.hint(for: name))")
        }
        guard let dialect = source.object["$schema"] else { return }
        if source.pointer != .root {
            unsupported(source.pointer.appending("$schema"), "$schema", "may stand only at the top of the document")
        } else if dialect != .string(Schema.dialect) {
            unsupported(
                source.pointer.appending("$schema"), "$schema",
                "must be \"\(Schema.dialect)\", but is \(dialect.briefPhrase)")
        }
    }

    private mutating func types(_ source: SchemaSource) -> JSONTypeSet? {
        guard let value = source.object["type"] else { return nil }
        var types: JSONTypeSet = []
        let names: [JSONValue] = if case .array(let names) = value { names } else { [value] }
        for name in names {
            guard let text = name.string, let type = JSONTypeSet(name: text) else {
                let suggestion = NameSuggestion.phrase(for: name.string ?? "", among: JSONTypeSet.names.map(\.name))
                report(
                    source.pointer.appending("type"), "type", "names \(name.briefPhrase), which is no type\(suggestion)"
                )
                continue
            }
            if types.contains(type) { report(source.pointer.appending("type"), "type", "names \(text) twice") }
            types.insert(type)
        }
        if names.isEmpty { report(source.pointer.appending("type"), "type", "must name at least one type") }
        return types
    }

    private mutating func annotate(_ node: inout SchemaNode, _ source: SchemaSource) {
        for keyword in ["title", "description", "$comment"] { _ = string(keyword, source) }
        _ = bool("deprecated", source)
        if let examples = source.object["examples"], examples.array == nil {
            report(source.pointer.appending("examples"), "examples", "must be an array, but is \(examples.kindPhrase)")
        }
        node.isLocked = bool("readOnly", source) ?? false
        node.isSecret = bool("writeOnly", source) ?? false
        node.defaultValue = source.object["default"]
        _ = namedSubschemas("$defs", source)
    }

    /// Refuses schemas that would judge one value for ever, and chains so long that following them is not safe.
    private mutating func refuseCircles() {
        var pointers = [JSONPointer](repeating: .root, count: nodes.count)
        for (pointer, id) in nodeIDs { pointers[id] = pointer }
        switch SchemaChains.examine(nodes, longest: Self.longestChain) {
        case .sound: break
        case .circle(let id):
            report(pointers[id], "$ref", "leads in a circle back to this schema without going into the value")
        case .tooLong(let id):
            report(
                pointers[id], "$ref", "leads through more than \(Self.longestChain) schemas for one and the same value")
        }
    }

    private mutating func checkDefaults() {
        for (pointer, id) in defaults {
            guard let value = nodes[id].defaultValue else { continue }
            var validator = SchemaValidator(nodes: nodes, mostFindings: 1)
            validator.validate(value, against: [id], isSecret: SchemaConjunction.isSecret([id], in: nodes))
            if let violation = validator.findings.first?.violation {
                report(
                    pointer.appending("default"), "default",
                    "\(violation.pointer == .root ? "" : "at \(violation.pointer) ")\(violation.detail)")
            }
        }
    }
}
