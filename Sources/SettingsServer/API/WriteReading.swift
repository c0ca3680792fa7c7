internal import HTTPWire
internal import SettingsModel

/// From a request to the write that it asks for.
extension Incoming {
    /// Refuses a write to a locked key. To be asked before the body is looked at: whether a name may be written does not
    /// depend on what was to be stored.
    func checkLock(_ bytes: Span<UInt8>, on state: State) throws(Problem) {
        guard route.key != nil, query.text(.override) == nil else { return }
        let suite = try suite(in: bytes)
        let key = try key(in: bytes)
        if state.suite(suite)?.schema?.schema.key(key.text)?.isLocked ?? false {
            throw Evaluator.locked(key, in: suite)
        }
    }

    /// The write that the request asks for.
    func write(_ bytes: Span<UInt8>, body: Span<UInt8>, on state: State) throws(Problem) -> WriteRequest {
        do throws(Problem) {
            return try read(bytes, body: body, on: state)
        } catch {
            // What cannot be read repeats nothing, so a lock comes first after all.
            try checkLock(bytes, on: state)
            throw error
        }
    }

    private func read(_ bytes: Span<UInt8>, body: Span<UInt8>, on state: State) throws(Problem) -> WriteRequest {
        let suite = route.suite == nil ? nil : try self.suite(in: bytes)
        let key = route.key == nil ? nil : try self.key(in: bytes)
        let schema = suite.flatMap { state.suite($0)?.schema }
        if head.field(.contentEncoding) != nil {
            throw Problem(.unsupportedMediaType, "send the body as it is: no Content-Encoding is understood")
        }
        if route.resource == .transaction, head.has(.ifMatch) || head.has(.ifNoneMatch) {
            throw Problem(
                .badRequest,
                "a transaction takes no If-Match and no If-None-Match; say what must hold in the member if of its body")
        }
        let format = BodyFormat(contentType: text(.contentType, in: bytes))
        let document = try document(body, format)
        var request = WriteRequest(try command(suite, key, document ?? .null, format, body))
        request.check(against: schema)
        request.guards = try guards(in: bytes)
        request.isDryRun = query.flag(.dryRun)
        request.overridesLocks = query.text(.override) != nil
        request.size = body.count + WriteRequest.overhead
        if let text = text(.idempotencyKey, in: bytes) {
            guard let requestKey = RequestKey(text) else {
                throw Problem(
                    .badRequest, "Idempotency-Key must be 1 to \(RequestKey.maximumLength) printable bytes of ASCII")
            }
            request.requestKey = requestKey
            request.digest = digest(suite, key, document, format, request.guards)
        }
        return request
    }

    /// The body; nil for a method that has none.
    private func document(_ body: Span<UInt8>, _ format: BodyFormat) throws(Problem) -> JSONValue? {
        guard method != .delete else { return nil }
        if route.resource == .suite, method == .patch, format == .jsonPatch {
            throw Problem(
                .unsupportedMediaType,
                "a JSON Patch changes one setting; for a suite send a map, or a transaction of patches")
        }
        do {
            return try JSONValue(parsing: body)
        } catch {
            throw Problem(error)
        }
    }

    private func command(
        _ suite: SuiteName?, _ key: KeyName?, _ document: JSONValue, _ format: BodyFormat, _ body: Span<UInt8>
    ) throws(Problem) -> WriteRequest.Command {
        switch (route.resource, method, suite, key) {
        case (.setting, .put, let suite?, let key?):
            return .setting(Transaction.Operation(suite: suite, key: key, .set(document)))
        case (.setting, .patch, let suite?, let key?):
            let operation = try Self.operation(document, format)
            return .setting(Transaction.Operation(suite: suite, key: key, .change(operation)))
        case (.setting, .delete, let suite?, let key?):
            return .setting(Transaction.Operation(suite: suite, key: key, .delete))
        case (.suite, .patch, let suite?, _): return .mergeSuite(suite, try Self.map(document))
        case (.suite, .put, let suite?, _): return .replaceSuite(suite, try Self.map(document))
        case (.suite, .delete, let suite?, _): return try removal(of: suite)
        case (.schema, .put, let suite?, _):
            let policy = query.text(.onConflict).flatMap { WriteRequest.ConflictPolicy(rawValue: $0) } ?? .refuse
            return Self.schema(document, body, of: suite, onConflict: policy)
        case (.schema, .delete, let suite?, _): return .removeSchema(suite)
        case (.transaction, .post, _, _): return .transaction(try Self.read(document))
        default: throw Problem(.methodNotAllowed, "\(method.name) writes nothing here")
        }
    }

    private func removal(of suite: SuiteName) throws(Problem) -> WriteRequest.Command {
        let prefix = query.text(.prefixToRemove)
        guard query.flag(.drop) else { return .resetSuite(suite, prefix: prefix ?? "") }
        guard prefix == nil else {
            throw Problem(.badRequest, "drop removes the whole suite and cannot be limited by prefix")
        }
        return .dropSuite(suite)
    }

    private static func operation(_ json: JSONValue, _ format: BodyFormat) throws(Problem) -> InPlaceOperation {
        switch format {
        case .json: try read(json)
        case .mergePatch: .merge(json)
        case .jsonPatch: .patch(try read(json))
        }
    }

    /// A map from keys to values.
    private static func map(_ json: JSONValue) throws(Problem) -> JSONObject {
        guard case .object(let values) = json else {
            throw Problem(BodyError("expected an object of keys and values, found another JSON value"))
        }
        return values
    }

    private static func schema(
        _ document: JSONValue, _ body: Span<UInt8>, of suite: SuiteName,
        onConflict policy: WriteRequest.ConflictPolicy
    ) -> WriteRequest.Command {
        do {
            let text = body.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            return .setSchema(suite, try Schema(document, text: text), onConflict: policy)
        } catch {
            return .refuseSchema(suite, Problem(error))
        }
    }

    private static func read<Body: JSONReadable>(_ json: JSONValue) throws(Problem) -> Body {
        do {
            return try Body(json: json)
        } catch {
            throw Problem(error)
        }
    }

    /// Tells this request from one that asks for something else, by what it means: method, names, parameters, guards
    /// and the body as JSON. How a program spells them may differ from one attempt to the next.
    private func digest(
        _ suite: SuiteName?, _ key: KeyName?, _ document: JSONValue?, _ format: BodyFormat,
        _ guards: [WriteRequest.Guard]
    ) -> String {
        var digest = RequestDigest()
        digest.add(method.name)
        digest.add(route.resource.rawValue)
        digest.add(suite?.text ?? "")
        digest.add(key?.text ?? "")
        digest.add(list: query.meaning)
        digest.add(list: guards.map(\.meaning))
        // Elsewhere the type of the body says nothing.
        if route.resource == .setting, method == .patch { digest.add(format.rawValue) }
        if let document { digest.add(document) }
        return digest.text
    }
}

extension WriteRequest {
    /// Checks the value of a `set` against the schema that is published, so that the writer, which is one for all, need
    /// not. A value that does not pass as it is, is left for the writer, which may know a newer schema.
    fileprivate mutating func check(against schema: SchemaVersion?) {
        guard let schema, case .setting(let operation) = command, case .set(let value) = operation.action,
            let key = schema.schema.key(operation.key.text)
        else { return }
        guard key.normalized(value) == value, key.violations(of: value).isEmpty else { return }
        checkedAgainst = schema
    }
}

extension Problem {
    /// A document that is no schema: everything that is wrong with it.
    init(_ error: SchemaError) {
        let violations = error.problems.map { problem in
            Violation(pointer: problem.pointer, keyword: problem.keyword, detail: problem.detail)
        }
        let more = violations.count > 1 ? " (and \(violations.count - 1) more)" : ""
        self.init(.invalidSchema, (error.problems.first?.description ?? "the schema is not valid") + more)
        errors = violations
    }
}
