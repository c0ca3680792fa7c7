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
    /// The schemas that something is wrong with, and those of them whose rules may refuse too much because of it.
    private var flawed: Set<SchemaNodeID> = []
    private var misleading: Set<SchemaNodeID> = []
    private var current: SchemaNodeID = 0
    /// What all patterns of the document together may still take.
    private var patternStates = 50_000

    /// How many schemas may judge one value one inside the other by way of `$ref`, `allOf` and the like.
    private static let longestChain = 64

    /// What a document compiles to: its own node is the first.
    struct Result {
        var nodes: [SchemaNode] = []
        /// Everything that is wrong. Without any of it, the nodes may be used.
        var problems: [SchemaError.Problem] = []
        /// True if values can be validated against the nodes: no schema leads in a circle.
        var isFinite = false
        fileprivate(set) var places: [JSONPointer: SchemaNodeID] = [:]
        fileprivate(set) var flawed: Set<SchemaNodeID> = []
        fileprivate(set) var misleading: Set<SchemaNodeID> = []
    }

    /// Compiles the document, as far as it can be.
    static func result(of document: JSONValue) -> Result {
        guard document.isNested(atMost: JSONValue.maximumDepth) else {
            let detail = "a schema may nest at most \(JSONValue.maximumDepth) levels deep"
            return Result(problems: [SchemaError.Problem(.root, "schema", detail)])
        }
        var compiler = SchemaCompiler(document: document)
        _ = compiler.node(at: .root, document)
        compiler.compilePending()
        var result = Result(
            nodes: compiler.nodes, places: compiler.nodeIDs, flawed: compiler.flawed, misleading: compiler.misleading)
        result.isFinite = compiler.refuseCircles()
        if result.isFinite { compiler.checkDefaults(result) }
        result.problems = compiler.problems
        return result
    }

    /// Compiles a document that must be sound.
    static func compile(_ document: JSONValue) throws(SchemaError) -> [SchemaNode] {
        let result = result(of: document)
        guard result.problems.isEmpty else { throw SchemaError(result.problems, of: document) }
        return result.nodes
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
        note(keyword)
        problems.append(SchemaError.Problem(pointer, keyword, "\(keyword) \(detail)"))
    }

    /// Notes something that JSON Schema has and these schemas have not.
    mutating func unsupported(_ pointer: JSONPointer, _ keyword: String, _ detail: String) {
        note(keyword)
        problems.append(SchemaError.Problem(pointer, keyword, "\(keyword) \(detail)", isUnsupported: true))
    }

    /// A keyword that cannot be read demands nothing. Only where others stand on it is too much refused without it.
    private mutating func note(_ keyword: String) {
        flawed.insert(current)
        let others: Set<SchemaKeyword> = [.properties, .patternProperties, .prefixItems, .contains, .minContains, .if]
        if SchemaKeyword(rawValue: keyword).map(others.contains) ?? false { misleading.insert(current) }
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
            current = id
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
            note("schema")
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
        let known = problems.count
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
        return problems.count == known ? types : nil
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

    /// Refuses schemas that would judge one value for ever, and chains so long that following them is not safe; false if
    /// there are any.
    private mutating func refuseCircles() -> Bool {
        var pointers = [JSONPointer](repeating: .root, count: nodes.count)
        for (pointer, id) in nodeIDs { pointers[id] = pointer }
        switch SchemaChains.examine(nodes, longest: Self.longestChain) {
        case .sound: return true
        case .circle(let id):
            report(pointers[id], "$ref", "leads in a circle back to this schema without going into the value")
        case .tooLong(let id):
            report(
                pointers[id], "$ref", "leads through more than \(Self.longestChain) schemas for one and the same value")
        }
        return false
    }

    private mutating func checkDefaults(_ result: Result) {
        for (pointer, id) in defaults where result.judgesFairly([id]) {
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

extension SchemaCompiler.Result {
    /// Where `writeOnly` stands elsewhere than on keys, which are schemas that the document has for its members and those
    /// that hold with them. It would be ignored there.
    func nestedSecrets() -> [SchemaError.Problem] {
        guard let root = nodes.first, nodes.contains(where: \.isSecret) else { return [] }
        let keys = root.objects?.memberNodes ?? []
        let ofKeys = SchemaConjunction.closure(of: keys, in: nodes)
        var pending = root.children.filter { !keys.contains($0) }
        for id in ofKeys {
            let together = nodes[id].conjunctiveNodes
            pending += nodes[id].children.filter { !together.contains($0) }
        }
        var nested: Set<SchemaNodeID> = [0]
        while let id = pending.popLast() {
            if nested.insert(id).inserted { pending += nodes[id].children }
        }
        return places.filter { nested.contains($0.value) && nodes[$0.value].isSecret }.map { place in
            SchemaError.Problem(
                place.key.appending("writeOnly"), "writeOnly",
                "writeOnly may stand on keys only: a key is a secret as a whole or not at all", isUnsupported: true)
        }
    }

    /// Whether what some schemas refuse is refused for what it is, not for a keyword that could not be read.
    ///
    /// Such a keyword demands nothing, so too little is refused; too much only where something is denied or counted.
    func judgesFairly(_ ids: [SchemaNodeID]) -> Bool {
        guard !flawed.isEmpty else { return true }
        var seen: Set<SchemaNodeID> = []
        var pending = ids
        var (isFlawed, isDelicate) = (false, false)
        while let id = pending.popLast() {
            guard seen.insert(id).inserted else { continue }
            if flawed.contains(id) { isFlawed = true }
            if misleading.contains(id) || nodes[id].deniesOrCounts { isDelicate = true }
            pending += nodes[id].children
        }
        return !(isFlawed && isDelicate)
    }
}
