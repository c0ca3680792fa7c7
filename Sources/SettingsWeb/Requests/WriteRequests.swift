internal import HTTPServer
internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The suite and the key in the path of a write, and the present schema of the suite.
struct WriteTarget {
    let suite: SuiteName?
    let key: KeyName?
    let schema: SchemaVersion?

    init(_ request: APIRequest, _ bytes: Span<UInt8>, on state: State) throws(Problem) {
        suite = request.route.suite == nil ? nil : try request.suite(in: bytes)
        key = request.route.key == nil ? nil : try request.key(in: bytes)
        schema = suite.flatMap { state.schema(of: $0) }
    }
}

/// The writes that requests ask for.
extension APIRequest {
    /// A body of at least this many bytes is parsed in the background instead of on the event loop. Parsing that many
    /// bytes takes half a millisecond, and compiling them as a schema about 20 milliseconds.
    static let largeBody = LoopContext.readSize
    /// The maximum steps of validation that an event loop spends on one value: one or two milliseconds.
    private static let mostStepsOnLoop = 50_000

    /// Throws 403 if the key is locked. Runs before the body is parsed, so that the refusal does not depend on the
    /// body.
    func checkLock(_ target: WriteTarget, on state: State) throws(Problem) {
        guard let name = target.suite, let key = target.key, !overridesLocks,
            target.schema?.schema.key(key.text)?.isLocked ?? false, let suite = state.suite(name)
        else { return }
        throw suite.lockedKey(key)
    }

    /// Makes the write that the request asks for. Throws if the request is malformed.
    ///
    /// - Returns: the write, and true if validating its value takes more steps than an event loop may spend.
    func write(
        _ target: WriteTarget, _ bytes: Span<UInt8>, body: Span<UInt8>, on state: State
    ) throws(Problem) -> (write: WriteRequest, isCheckCostly: Bool) {
        do throws(Problem) {
            return try read(target, bytes, body: body, on: state)
        } catch {
            // The decide stage checks the lock for a request with a request key, after it has searched for an earlier
            // request with the same key. A malformed request cannot repeat an earlier request, so a locked key is
            // reported before the malformed body.
            try checkLock(target, on: state)
            throw error
        }
    }

    private func read(
        _ target: WriteTarget, _ bytes: Span<UInt8>, body: Span<UInt8>, on state: State
    ) throws(Problem) -> (write: WriteRequest, isCheckCostly: Bool) {
        let (suite, key) = (target.suite, target.key)
        try checkEncoding()
        if route.resource == .transaction, head.has(.ifMatch) || head.has(.ifNoneMatch) {
            throw Problem(
                .badRequest,
                "a transaction takes no If-Match and no If-None-Match; say what must hold in the member if of its body")
        }
        if route.resource == .undoOfSeveral, head.has(.ifMatch) || head.has(.ifNoneMatch) {
            throw Problem(.badRequest, "If-Match and If-None-Match are about one suite: undo in /v1/suites/SUITE/undo")
        }
        let format = bodyFormat(in: bytes)
        let document = try document(body, format)
        let command = try command(suite, key, document ?? .null, format, body)
        try checkGrants(command)
        var request = WriteRequest(command)
        request.grants = caller?.grants
        let isCheckCostly = request.check(
            against: target.schema, within: body.count < Self.largeBody ? Self.mostStepsOnLoop : .max)
        request.guards = try guards(in: bytes)
        request.isDryRun = query.flag(.dryRun)
        request.overridesLocks = overridesLocks
        request.size = body.count + WriteRequest.overhead
        request.origin = CommitOrigin(by: by, note: try note(in: bytes))
        if let text = text(.idempotencyKey, in: bytes) {
            guard let requestKey = RequestKey(text) else {
                throw Problem(
                    .badRequest, "Idempotency-Key must be 1 to \(RequestKey.maximumLength) printable bytes of ASCII")
            }
            request.requestKey = requestKey
            request.digest = digest(suite, key, document, format, request.guards)
        }
        return (request, isCheckCostly)
    }

    /// Throws 415 if the body is compressed, or encoded in another way.
    func checkEncoding() throws(Problem) {
        if head.has(.contentEncoding) {
            throw Problem(.unsupportedMediaType, "send the body as it is: no Content-Encoding is understood")
        }
    }

    /// Reads the field `Settings-Note`, the reason for the write; nil if the field is missing or empty.
    private func note(in bytes: Span<UInt8>) throws(Problem) -> String? {
        guard let field = head.field(.settingsNote), !field.isEmpty else { return nil }
        guard field.count <= CommitOrigin.maximumNoteLength,
            let text = try? UTF8Span(validating: bytes.extracting(field)), case let note = String(copying: text),
            !note.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw Problem(
                .badRequest,
                "Settings-Note must be UTF-8 of at most \(CommitOrigin.maximumNoteLength) bytes without control characters"
            )
        }
        return note
    }

    /// Parses the body. Returns nil for DELETE, which has no body.
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
            return Self.schema(document, body, of: suite, onConflict: conflictPolicy)
        case (.schema, .delete, let suite?, _): return .removeSchema(suite)
        case (.transaction, .post, _, _): return .transaction(try Self.read(document))
        case (.undo, .post, let suite?, _):
            return .undo(try Self.read(document), of: suite, onConflict: conflictPolicy)
        case (.undoOfSeveral, .post, _, _):
            return .undo(try Self.read(document), of: nil, onConflict: conflictPolicy)
        case (.restore, .post, let suite?, _):
            return .restore(suite, try Self.read(document), skipsConflicts: query.has(.onRestoreConflict))
        default: throw Problem(.methodNotAllowed, "\(method.name) writes nothing here")
        }
    }

    private var conflictPolicy: WriteRequest.ConflictPolicy {
        query.text(.onConflict).flatMap { WriteRequest.ConflictPolicy(rawValue: $0) } ?? .refuse
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

    /// Returns a digest of the parsed request: method, names, parameters, guards and the body as JSON. The digest does
    /// not depend on the formatting, which may differ between two attempts of a client.
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
        // Other requests have the same meaning in every format.
        if route.resource == .setting, method == .patch { digest.add(format.rawValue) }
        if let document { digest.add(document) }
        return digest.text
    }
}

extension WriteRequest {
    /// Validates the value of a `set` against the published schema. If the value is valid, the decide stage does not
    /// validate it again. If it is not valid, the decide stage validates it again, because the decide stage may have a
    /// newer schema.
    ///
    /// - Parameter steps: the maximum steps of the validation.
    /// - Returns: true if the validation needs more steps.
    fileprivate mutating func check(against schema: SchemaVersion?, within steps: Int) -> Bool {
        guard let schema, case .setting(let operation) = command, case .set(let value) = operation.action,
            let key = schema.schema.key(operation.key.text)
        else { return false }
        let isAllowed = key.allows(value, within: steps)
        if isAllowed == true { checkedAgainst = schema }
        return isAllowed == nil
    }
}

/// A digest that distinguishes requests: 128 bits of FNV-1a. It is the same in every run of the daemon.
///
/// The digest detects a client that uses one request key for two different requests by mistake. It does not need to
/// resist attacks: a client that creates a collision on purpose gains nothing that a different request key would not
/// give it.
private struct RequestDigest {
    private var state: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
    private static let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b

    /// Adds the length of a text and then the text. The length keeps two adjacent texts apart.
    mutating func add(_ text: String) {
        let bytes = text.utf8Span.span
        add(number: UInt64(bytes.count))
        for index in bytes.indices { mix(bytes[index]) }
    }

    mutating func add(list texts: [String]) {
        add(number: UInt64(texts.count))
        for text in texts { add(text) }
    }

    /// Adds a JSON value: the members of an object in the order of their names, and numbers as their bits.
    mutating func add(_ value: JSONValue) {
        switch value {
        case .null: mix(0)
        case .bool(let isTrue): mix(isTrue ? 2 : 1)
        case .integer(let number):
            mix(3)
            add(number: UInt64(bitPattern: number))
        case .double(let number):
            mix(4)
            add(number: number.bitPattern)
        case .string(let text):
            mix(5)
            add(text)
        case .array(let elements):
            mix(6)
            add(number: UInt64(elements.count))
            for element in elements { add(element) }
        case .object(let object):
            mix(7)
            add(number: UInt64(object.count))
            for member in object.members.sorted(by: { $0.name.precedesInBytes($1.name) }) {
                add(member.name)
                add(member.value)
            }
        }
    }

    private mutating func add(number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { mix(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
    }

    private mutating func mix(_ byte: UInt8) {
        state = (state ^ UInt128(byte)) &* Self.prime
    }

    /// The digest in hexadecimal digits after the prefix `meaning:`, which names the kind of the digest. Digests of
    /// version 0.3 have no prefix, because version 0.3 computed them from the bytes of the request.
    var text: String {
        "meaning:" + String(state, radix: 16)
    }
}
