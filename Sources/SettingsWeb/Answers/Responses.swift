internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A response that is not rendered yet, with an estimate of the processor time and the memory that rendering takes.
struct Rendering: Sendable {
    /// Estimates the cost of rendering. Stops estimating when the cost exceeds the limit.
    private let estimate: @Sendable (_ limit: Cost) -> Cost
    /// True to render in the background even if the response is small, because the search for its data may take long.
    private let alwaysInBackground: Bool
    /// True if the estimate of the memory is an upper bound, and most responses take far less.
    private let isUpperBound: Bool
    /// Renders the response. Thread-safe.
    let make: @Sendable () -> Response

    init(
        alwaysInBackground: Bool = false, isUpperBound: Bool = false, cost: @escaping @Sendable (_ limit: Cost) -> Cost,
        make: @escaping @Sendable () -> Response
    ) {
        (self.alwaysInBackground, self.isUpperBound) = (alwaysInBackground, isUpperBound)
        (estimate, self.make) = (cost, make)
    }

    init(cost: Cost, isUpperBound: Bool = false, make: @escaping @Sendable () -> Response) {
        self.init(isUpperBound: isUpperBound, cost: { _ in cost }, make: make)
    }

    init(_ response: Response) {
        self.init(cost: .zero) { response }
    }

    /// True if rendering takes more time than an event loop may spend on one request, or if the search for the data may
    /// take more time than that (`alwaysInBackground`).
    var exceedsLoopLimit: Bool { alwaysInBackground || estimate(.loopLimit).exceeds(.loopLimit) }

    /// The bytes of memory to reserve before rendering, if the whole budget has `budget` bytes.
    ///
    /// If the estimate is an upper bound, a response that would fit must not be refused, and must not wait until the
    /// whole budget is free. So an upper bound counts as at most a quarter of the budget.
    func bytesToReserve(of budget: Int) -> Int {
        let bytes = estimate(Cost(microseconds: .infinity, bytes: budget)).bytes
        return isUpperBound ? min(bytes, budget / 4) : bytes
    }
}

extension Response {
    /// Makes an answer of JSON. The body ends with a newline, so that the next prompt of a terminal begins a line.
    init(json body: consuming [UInt8], status: Int = 200, cursor: Cursor?, tag: EntityTag? = nil) {
        self.init(status: status, contentType: .json, fields: FieldBlock(cursor: cursor, tag: tag), body: body.asLine())
    }

    /// Makes an answer of JSON with exactly these bytes.
    init(verbatim body: [UInt8], cursor: Cursor?, tag: EntityTag? = nil) {
        self.init(status: 200, contentType: .json, fields: FieldBlock(cursor: cursor, tag: tag), body: body)
    }

    /// Makes the answer to a read with `raw`: a string as plain text without quotation marks, any other value as JSON.
    init(raw value: JSONValue, cursor: Cursor, tag: EntityTag) {
        if case .string(let text) = value {
            self.init(
                status: 200, contentType: .text, fields: FieldBlock(cursor: cursor, tag: tag), body: Array(text.utf8))
        } else {
            self.init(verbatim: value.jsonBytes(), cursor: cursor, tag: tag)
        }
    }

    init(_ problem: Problem, cursor: Cursor?, tag: EntityTag? = nil) {
        // An unauthenticated client must not learn from the cursor how many commits there are.
        var fields = FieldBlock(cursor: problem.status == 401 ? nil : cursor, tag: tag)
        if !problem.allow.isEmpty { fields.append("Allow", text: problem.allow.joined(separator: ", ")) }
        if problem.status == 401 { fields.append("WWW-Authenticate", "Bearer") }
        if let seconds = problem.retryAfterSeconds { fields.append("Retry-After", integer: Int(seconds)) }
        self.init(status: problem.status, contentType: .problem, fields: fields, body: problem.jsonBytes().asLine())
        errorCodeNumber = problem.code?.number ?? 0
    }

    /// Makes the answer to a long poll. `Vary` names `Accept`, because the same target with another `Accept` is a
    /// request for an event stream.
    init(toWatchRequest body: [UInt8], cursor: Cursor) {
        self.init(json: body, cursor: cursor)
        fields.append("Vary", "Accept")
    }

    /// Makes a response with the status 304: the client has the version with this tag.
    init(notModified tag: EntityTag, cursor: Cursor) {
        self.init(status: 304, contentType: .none, fields: FieldBlock(cursor: cursor, tag: tag), body: [])
    }

    mutating func forbidCaching() {
        fields.append("Cache-Control", "no-store")
    }

    /// Makes the answer to OPTIONS.
    init(allowing methods: [String], _ cursor: Cursor?) {
        var fields = FieldBlock(cursor: cursor, tag: nil)
        fields.append("Allow", text: methods.joined(separator: ", "))
        self.init(status: 204, contentType: .none, fields: fields, body: [])
    }
}

extension [UInt8] {
    /// Returns the bytes with a newline at the end.
    consuming func asLine() -> [UInt8] {
        append(UInt8(ascii: "\n"))
        return self
    }
}

extension FieldBlock {
    /// Makes the field `Settings-Cursor`, which contains the position in the history, and the field `ETag`.
    ///
    /// - Parameter cursor: the position; nil for a client that may not learn it.
    init(cursor: Cursor?, tag: EntityTag?) {
        self.init(reservingCapacity: 224)
        if let cursor { append("Settings-Cursor", cursor.epoch.text, ".", integer: Int(cursor.revision.number)) }
        if let tag { append(tag: tag) }
    }

    mutating func append(tag: EntityTag) {
        guard tag.digest == nil else { return append("ETag", text: tag.description) }
        append("ETag", "\"", integer: Int(tag.revision.number), "\"")
    }

    /// Adds the source of a value, such as `stored` or `default`.
    mutating func append(source: Source) {
        append("Settings-Source", text: source.name)
    }
}

extension ErrorCode {
    /// The number of the code, beginning at 1, by which ``LoopMetrics`` counts error answers.
    var number: UInt8 { UInt8((Self.allCases.firstIndex(of: self) ?? 0) + 1) }

    init?(number: UInt8) {
        let index = Int(number) - 1
        guard Self.allCases.indices.contains(index) else { return nil }
        self = Self.allCases[index]
    }
}
