internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A response that is still to be rendered, with an estimate of what rendering it costs.
struct Rendering: Sendable {
    /// Estimates the cost of rendering, up to a limit.
    private let estimate: @Sendable (_ limit: Cost) -> Cost
    /// True if finding what to render may take much time, however small the response is.
    private let searchesHistory: Bool
    /// True if the estimate of the memory is an upper bound, which the response mostly stays far below.
    private let isUpperBound: Bool
    /// Renders the response. Thread-safe.
    let make: @Sendable () -> Response

    /// - Parameters:
    ///   - searchesHistory: true to render in the background even if the response is small.
    ///   - isUpperBound: true if the response mostly takes far less memory than estimated.
    init(
        searchesHistory: Bool = false, isUpperBound: Bool = false, cost: @escaping @Sendable (_ limit: Cost) -> Cost,
        make: @escaping @Sendable () -> Response
    ) {
        self.searchesHistory = searchesHistory
        self.isUpperBound = isUpperBound
        estimate = cost
        self.make = make
    }

    init(cost: Cost, isUpperBound: Bool = false, make: @escaping @Sendable () -> Response) {
        self.init(isUpperBound: isUpperBound, cost: { _ in cost }, make: make)
    }

    init(_ response: Response) {
        self.init(cost: .zero) { response }
    }

    /// True if rendering takes more time than an event loop may spend on one request.
    var exceedsLoopLimit: Bool { searchesHistory || estimate(.loopLimit).exceeds(.loopLimit) }

    /// The memory to reserve before rendering, out of a budget.
    ///
    /// An upper bound must neither refuse a response that would fit, nor wait until the whole budget is free. So it counts as a quarter of the
    /// budget at most.
    func bytesToReserve(of budget: Int) -> Int {
        let bytes = estimate(Cost(microseconds: .infinity, bytes: budget)).bytes
        return isUpperBound ? min(bytes, budget / 4) : bytes
    }
}

extension Response {
    /// A body of JSON.
    init(json body: [UInt8], status: Int = 200, cursor: Cursor?, tag: EntityTag? = nil) {
        self.init(status: status, contentType: .json, fields: FieldBlock(cursor: cursor, tag: tag), body: body)
    }

    /// A bare value: a string as text without quotation marks, anything else as JSON.
    init(raw value: JSONValue, cursor: Cursor, tag: EntityTag) {
        if case .string(let text) = value {
            self.init(
                status: 200, contentType: .text, fields: FieldBlock(cursor: cursor, tag: tag), body: Array(text.utf8))
        } else {
            self.init(json: value.jsonBytes(), cursor: cursor, tag: tag)
        }
    }

    /// An error.
    init(_ problem: Problem, cursor: Cursor?, tag: EntityTag? = nil) {
        // The place in history would tell how often something is written.
        var fields = FieldBlock(cursor: problem.status == 401 ? nil : cursor, tag: tag)
        if !problem.allow.isEmpty { fields.append("Allow", text: problem.allow.joined(separator: ", ")) }
        if problem.status == 401 { fields.append("WWW-Authenticate", "Bearer") }
        if let seconds = problem.retryAfterSeconds { fields.append("Retry-After", integer: Int(seconds)) }
        self.init(status: problem.status, contentType: .problem, fields: fields, body: problem.jsonBytes())
        errorNumber = problem.code?.number ?? 0
    }

    /// An answer to an observer, who with another `Accept` would get a stream.
    init(toObserver body: [UInt8], cursor: Cursor) {
        self.init(json: body, cursor: cursor)
        fields.append("Vary", "Accept")
    }

    /// 304: the caller has the version with this tag.
    init(notModified tag: EntityTag, cursor: Cursor) {
        self.init(status: 304, contentType: .none, fields: FieldBlock(cursor: cursor, tag: tag), body: [])
    }

    /// Has no cache keep the answer.
    mutating func forbidStorage() {
        fields.append("Cache-Control", "no-store")
    }

    /// The answer to OPTIONS.
    init(allowing methods: [String], _ cursor: Cursor?) {
        var fields = FieldBlock(cursor: cursor, tag: nil)
        fields.append("Allow", text: methods.joined(separator: ", "))
        self.init(status: 204, contentType: .none, fields: fields, body: [])
    }
}

extension FieldBlock {
    /// The place in history, which only admitted callers are told, and the tag.
    init(cursor: Cursor?, tag: EntityTag?) {
        self.init(reservingCapacity: 224)
        if let cursor { append("Settings-Cursor", cursor.epoch.text, ".", integer: Int(cursor.revision.number)) }
        if let tag { append(tag: tag) }
    }

    mutating func append(tag: EntityTag) {
        guard tag.digest == nil else { return append("ETag", text: tag.description) }
        append("ETag", "\"", integer: Int(tag.revision.number), "\"")
    }

    mutating func append(source: Source) {
        append("Settings-Source", text: source.name)
    }
}

extension ErrorCode {
    /// The number by which refusals are counted, from 1.
    var number: UInt8 { UInt8((Self.allCases.firstIndex(of: self) ?? 0) + 1) }

    /// Returns the code of such a number.
    init?(number: UInt8) {
        let index = Int(number) - 1
        guard Self.allCases.indices.contains(index) else { return nil }
        self = Self.allCases[index]
    }
}
