internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A response that is still to be rendered, with the work which that takes.
struct Rendering: Sendable {
    /// The weight that is rendered on a loop: about 16,000 values or 128 KB of text, for which it takes a millisecond or two.
    static let mostOnLoop = 16 << 10

    /// Weighs what is to be rendered: one for each value and for each eight bytes of text. Stops above a limit.
    let weight: @Sendable (_ limit: Int) -> Int
    /// True if the weight counts a search of the history and so can exceed the memory that the response takes. The
    /// estimate is then limited to the memory budget, so that the queue does not refuse the job.
    let weightIsUpperBound: Bool
    /// Renders the response; on any thread.
    let make: @Sendable () -> Response

    /// - Parameter isBeside: true if it is made beside the loop, however little it shows: much is looked at for it.
    init(
        weighing: @escaping @Sendable (_ limit: Int) -> Int, isBeside: Bool = false, weightIsUpperBound: Bool = false,
        make: @escaping @Sendable () -> Response
    ) {
        weight = { limit in isBeside && limit <= Self.mostOnLoop ? limit + 1 : weighing(limit) }
        self.weightIsUpperBound = weightIsUpperBound
        self.make = make
    }

    init(weight: Int, weightIsUpperBound: Bool = false, make: @escaping @Sendable () -> Response) {
        self.init(weighing: { _ in weight }, weightIsUpperBound: weightIsUpperBound, make: make)
    }

    init(_ response: Response) {
        self.init(weight: 0) { response }
    }

    /// True if it is to be rendered beside the loop.
    var isLong: Bool { weight(Self.mostOnLoop) > Self.mostOnLoop }

    /// The memory that making it takes, about.
    var bytes: Int { 8 * weight(.max / 16) }
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
        refusal = problem.code?.number ?? 0
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
