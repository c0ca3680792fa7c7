internal import HTTPServer
internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The suite (a named set of settings) and the key in the path of a write; each is nil if the path does not have it.
struct WriteTarget {
    let suite: SuiteName?
    let key: KeyName?
    /// The schema of the suite in the published state, which contains all durable commits; nil if there is none.
    let schema: SchemaVersion?

    init(_ request: APIRequest, _ bytes: Span<UInt8>, on state: State) throws(Problem) {
        suite = request.route.suite == nil ? nil : try request.suite(in: bytes)
        key = request.route.key == nil ? nil : try request.key(in: bytes)
        schema = suite.flatMap { state.schema(of: $0) }
    }
}

/// Parses a request into a ``WriteRequest``. A thread, the decide stage, then decides each queued write: checks it
/// against the staged state, which contains commits that are not durable yet, and computes its commit or its refusal.
extension APIRequest {
    /// A body of at least this many bytes (64 KiB), which arrives as a `LargeBody`, is parsed in the background.
    /// Parsing JSON of this size takes half a millisecond, and compiling a schema of this size about 20 milliseconds.
    static let largeBodySize = LoopContext.readSize
    /// The maximum validation steps that an event loop spends on one value. They take one or two milliseconds.
    private static let maximumStepsOnLoop = 50_000

    /// Throws 403 if the schema locks the key. This check needs no body, so it runs before the body is parsed.
    func checkLock(_ target: WriteTarget, on state: State) throws(Problem) {
        guard let name = target.suite, let key = target.key, !overridesLocks,
            target.schema?.schema.key(key.text)?.isLocked ?? false, let suite = state.suite(name)
        else { return }
        throw suite.lockedKey(key)
    }

    /// Parses the request into a write. Throws if the request is malformed. Guards are preconditions (`If-Match`).
    ///
    /// - Returns: the write, and true if validating its value takes more steps than an event loop may spend.
    func write(
        _ target: WriteTarget, _ bytes: Span<UInt8>, body: Span<UInt8>, on state: State
    ) throws(Problem) -> (write: WriteRequest, isValidationCostly: Bool) {
        do throws(Problem) {
            return try parse(target, bytes, body: body, on: state)
        } catch {
            // If the request has an `Idempotency-Key`, the lock was not checked before, because the request may repeat
            // a write that was made before the key was locked. A malformed request cannot be a repeat, so the lock is
            // checked here.
            try checkLock(target, on: state)
            throw error
        }
    }

    private func parse(
        _ target: WriteTarget, _ bytes: Span<UInt8>, body: Span<UInt8>, on state: State
    ) throws(Problem) -> (write: WriteRequest, isValidationCostly: Bool) {
        let (suite, key) = (target.suite, target.key)
        try checkContentEncoding()
        if route.resource == .transaction, head.has(.ifMatch) || head.has(.ifNoneMatch) {
            throw Problem(
                .badRequest,
                "a transaction must not have If-Match or If-None-Match; put the conditions into the member \"if\" of "
                    + "the body")
        }
        if route.resource == .undoInSuites, head.has(.ifMatch) || head.has(.ifNoneMatch) {
            throw Problem(
                .badRequest,
                "an undo in several suites must not have If-Match or If-None-Match; use /v1/suites/SUITE/undo")
        }
        if route.resource == .pendingAction, head.has(.ifMatch) || head.has(.ifNoneMatch) {
            throw Problem(.badRequest, "a request about a pending action must not have If-Match or If-None-Match")
        }
        let deadlines = try parseDeadlines(in: bytes)
        let format = bodyFormat(in: bytes)
        let document = try parseDocument(body, format)
        var request = WriteRequest(try makeTask(suite, key, document ?? .null, format, body))
        if let command = request.command { try checkGrants(command) }
        request.grants = caller?.grants
        // A larger body is parsed in the background, where the number of steps needs no limit.
        let isValidationCostly = request.validateValue(
            against: target.schema, maximumSteps: body.count < Self.largeBodySize ? Self.maximumStepsOnLoop : .max)
        request.guards = try guards(in: bytes)
        // A write with deadlines is not split into several commits, because only a single commit can be reverted.
        (request.deadlines, request.takesOneCommit) = (deadlines, deadlines != nil)
        request.isDryRun = query.flag(.dryRun)
        request.overridesLocks = overridesLocks
        // `overhead` is an estimate of the memory that a write takes in addition to its body.
        request.size = body.count + WriteRequest.overhead
        request.origin = CommitOrigin(by: callerName, note: try parseNote(in: bytes))
        if let text = fieldValue(.idempotencyKey, in: bytes) {
            guard let requestKey = RequestKey(text) else {
                throw Problem(
                    .badRequest, "Idempotency-Key must be 1 to \(RequestKey.maximumLength) printable ASCII characters")
            }
            request.requestKey = requestKey
            request.digest = makeDigest(suite, key, document, format, request.guards, deadlines)
        }
        return (request, isValidationCostly)
    }

    /// Throws 415 if the request has a `Content-Encoding`, such as a compressed body.
    func checkContentEncoding() throws(Problem) {
        if head.has(.contentEncoding) {
            throw Problem(.unsupportedMediaType, "Content-Encoding is not supported; send the body uncompressed")
        }
    }

    /// Parses the field `Settings-Note`, a text about the reason for the write; nil if the field is missing or empty.
    private func parseNote(in bytes: Span<UInt8>) throws(Problem) -> String? {
        guard let field = head.field(.settingsNote), !field.isEmpty else { return nil }
        guard field.count <= CommitOrigin.maximumNoteLength,
            let text = try? UTF8Span(validating: bytes.extracting(field)), case let note = String(copying: text),
            !note.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw Problem(
                .badRequest,
                "Settings-Note must be UTF-8 without control characters, up to \(CommitOrigin.maximumNoteLength) bytes")
        }
        return note
    }

    /// Parses the fields `Settings-Confirm`, `Settings-Until` and `Settings-Effective`; nil if the request has none of
    /// these fields.
    private func parseDeadlines(in bytes: Span<UInt8>) throws(Problem) -> WriteRequest.Deadlines? {
        guard head.has(.settingsConfirm) || head.has(.settingsUntil) || head.has(.settingsEffective) else { return nil }
        guard route.resource != .pendingAction else {
            throw Problem(
                .badRequest,
                "a request about a pending action must not have Settings-Confirm, Settings-Until or "
                    + "Settings-Effective; move its deadline with {\"do\":\"extend\"}")
        }
        let (until, effective) = (
            try parseDeadline(.settingsUntil, in: bytes), try parseDeadline(.settingsEffective, in: bytes)
        )
        return try WriteRequest.Deadlines(
            confirmText: fieldValue(.settingsConfirm, in: bytes), until: until, effective: effective)
    }

    private func parseDeadline(_ field: FieldName, in bytes: Span<UInt8>) throws(Problem) -> PendingTime? {
        guard let text = fieldValue(field, in: bytes) else { return nil }
        guard let time = PendingTime(text) else {
            throw Problem(.badRequest, "\(field.text): must be \(PendingTime.expectedText) (got \"\(text)\")")
        }
        return time
    }

    private static func parsePendingID(_ id: KeyName) throws(Problem) -> PendingID {
        guard let id = PendingID(id.text) else {
            throw Problem(.unknownPending, "there is no pending action \(id): an identifier has the form p51")
        }
        return id
    }

    /// Reads the identifier of the pending action in the path.
    func pendingID(in bytes: Span<UInt8>) throws(Problem) -> PendingID { try Self.parsePendingID(try key(in: bytes)) }

    /// Parses the body. Returns nil for DELETE, which has no body.
    private func parseDocument(_ body: Span<UInt8>, _ format: BodyFormat) throws(Problem) -> JSONValue? {
        guard method != .delete else { return nil }
        if route.resource == .suite, method == .patch, format == .jsonPatch {
            throw Problem(
                .unsupportedMediaType,
                "cannot apply a JSON Patch to a suite; send an object of keys and values, or a transaction of patches")
        }
        do {
            return try JSONValue(parsing: body)
        } catch {
            throw Problem(error)
        }
    }

    private func makeTask(
        _ suite: SuiteName?, _ key: KeyName?, _ document: JSONValue, _ format: BodyFormat, _ body: Span<UInt8>
    ) throws(Problem) -> WriteRequest.Task {
        switch (route.resource, method, suite, key) {
        case (.schema, .put, let suite?, _):
            Self.makeSchemaTask(document, body, of: suite, onConflict: conflictPolicy)
        case (.pendingAction, .post, _, let id?): .pending(try Self.parsePendingID(id), try Self.decode(document))
        default: .command(try makeCommand(suite, key, document, format))
        }
    }

    private func makeCommand(
        _ suite: SuiteName?, _ key: KeyName?, _ document: JSONValue, _ format: BodyFormat
    ) throws(Problem) -> WriteCommand {
        switch (route.resource, method, suite, key) {
        case (.setting, .put, let suite?, let key?):
            return .setting(Transaction.Operation(suite: suite, key: key, .set(document)))
        case (.setting, .patch, let suite?, let key?):
            let operation = try Self.parseOperation(document, format)
            return .setting(Transaction.Operation(suite: suite, key: key, .change(operation)))
        case (.setting, .delete, let suite?, let key?):
            return .setting(Transaction.Operation(suite: suite, key: key, .delete))
        case (.suite, .patch, let suite?, _): return .mergeSuite(suite, try Self.parseMap(document))
        case (.suite, .put, let suite?, _): return .replaceSuite(suite, try Self.parseMap(document))
        case (.suite, .delete, let suite?, _): return try makeRemoval(of: suite)
        case (.schema, .delete, let suite?, _): return .removeSchema(suite)
        case (.transaction, .post, _, _): return .transaction(try Self.decode(document))
        case (.undo, .post, let suite?, _):
            return .undo(try Self.decode(document), of: suite, onConflict: conflictPolicy)
        case (.undoInSuites, .post, _, _):
            return .undo(try Self.decode(document), of: nil, onConflict: conflictPolicy)
        case (.restore, .post, let suite?, _):
            // The only allowed value of the parameter is `skip`.
            return .restore(suite, try Self.decode(document), skipsConflicts: query.has(.onRestoreConflict))
        default: throw Problem(.methodNotAllowed, "this path does not support \(method.name)")
        }
    }

    /// The policy for stored values that conflict with the schema that the write sets or that an undo restores.
    private var conflictPolicy: ConflictPolicy {
        query.text(.onConflict).flatMap { ConflictPolicy(rawValue: $0) } ?? .refuse
    }

    /// Makes the command for DELETE of a suite. The parameter `drop` also removes the schema.
    private func makeRemoval(of suite: SuiteName) throws(Problem) -> WriteCommand {
        let prefix = query.text(.prefixToRemove)
        guard query.flag(.drop) else { return .resetSuite(suite, prefix: prefix ?? "") }
        guard prefix == nil else {
            throw Problem(.badRequest, "drop removes the whole suite and cannot be limited by prefix")
        }
        return .dropSuite(suite)
    }

    private static func parseOperation(_ json: JSONValue, _ format: BodyFormat) throws(Problem) -> InPlaceOperation {
        switch format {
        case .json: try decode(json)
        case .mergePatch: .merge(json)
        case .jsonPatch: .patch(try decode(json))
        }
    }

    private static func parseMap(_ json: JSONValue) throws(Problem) -> JSONObject {
        guard case .object(let values) = json else {
            throw Problem(BodyError("the body must be a JSON object of keys and values"))
        }
        return values
    }

    private static func makeSchemaTask(
        _ document: JSONValue, _ body: Span<UInt8>, of suite: SuiteName, onConflict policy: ConflictPolicy
    ) -> WriteRequest.Task {
        do {
            let text = body.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            return .command(.setSchema(suite, try Schema(document, text: text), onConflict: policy))
        } catch {
            // The decide stage first checks the preconditions. If they hold, it refuses the write with this error.
            return .refuseSchema(suite, Problem(error))
        }
    }

    private static func decode<Body: JSONReadable>(_ json: JSONValue) throws(Problem) -> Body {
        do {
            return try Body(json: json)
        } catch {
            throw Problem(error)
        }
    }

    /// Returns a digest of the parsed request: method, names, parameters, guards (preconditions), the body as JSON, and
    /// deadlines. The digest ignores formatting, such as spaces in the JSON, which may differ between attempts of a
    /// client.
    private func makeDigest(
        _ suite: SuiteName?, _ key: KeyName?, _ document: JSONValue?, _ format: BodyFormat,
        _ guards: [WriteGuard], _ deadlines: WriteRequest.Deadlines?
    ) -> String {
        var digest = RequestDigest()
        digest.add(method.name)
        digest.add(route.resource.rawValue)
        digest.add(suite?.text ?? "")
        digest.add(key?.text ?? "")
        digest.add(list: query.canonicalTexts)
        digest.add(list: guards.map(\.canonicalText))
        // The format changes the effect only of a PATCH of a setting.
        if route.resource == .setting, method == .patch { digest.add(format.rawValue) }
        if let document { digest.add(document) }
        if let deadlines { digest.add(list: deadlines.canonicalTexts) }
        return digest.text
    }
}

extension WriteRequest {
    /// Validates the value of a `set` against the published schema; returns true if that takes more than the maximum
    /// steps. The decide stage does not repeat the validation of a valid value if the schema is still the same. The
    /// decide stage validates any other value, and reports the errors.
    fileprivate mutating func validateValue(against schema: SchemaVersion?, maximumSteps: Int) -> Bool {
        guard let schema, case .setting(let operation) = command, case .set(let value) = operation.action,
            let key = schema.schema.key(operation.key.text)
        else { return false }
        // Nil if the validation takes more than the maximum steps.
        let isValid = key.allows(value, within: maximumSteps)
        if isValid == true { checkedAgainst = schema }
        return isValid == nil
    }
}

/// A digest of a request: the 128-bit FNV-1a hash. Equal requests have equal digests in every run of the daemon.
///
/// The digest detects a client that uses one `Idempotency-Key` for two different requests by mistake. The hash need not
/// be cryptographic: a client gains nothing from a collision that it creates on purpose.
private struct RequestDigest {
    // The offset basis and the prime of FNV-1a.
    private var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
    private static let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b

    /// Adds the length of a text and then the text, so that the texts "ab", "c" and "a", "bc" have different digests.
    mutating func add(_ text: String) {
        let bytes = text.utf8Span.span
        add(number: UInt64(bytes.count))
        for index in bytes.indices { mix(bytes[index]) }
    }

    mutating func add(list texts: [String]) {
        add(number: UInt64(texts.count))
        for text in texts { add(text) }
    }

    /// Adds a byte for the type, and the value. The order of members has no effect. Integers differ from equal doubles.
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

    private mutating func mix(_ byte: UInt8) { hash = (hash ^ UInt128(byte)) &* Self.prime }

    /// The digest in hexadecimal digits after the prefix `meaning:`. The prefix distinguishes the digest from a digest
    /// that version 0.3 stored, which has no prefix and was computed from the bytes of the request.
    var text: String { "meaning:" + String(hash, radix: 16) }
}
