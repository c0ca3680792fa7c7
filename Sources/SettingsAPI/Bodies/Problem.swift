public import SettingsModel

/// The body of an error response (RFC 9457).
///
/// The daemon makes problems from an `ErrorCode`. A client also receives problems of newer servers and of proxies, so a
/// problem stores the name of the code. The client treats a problem with an unknown code according to the status.
@dynamicMemberLookup
public struct Problem: Error, Equatable, Sendable, CustomStringConvertible {
    /// An indirect enum stores the members behind one pointer, because a problem has many members and many functions
    /// throw problems.
    private indirect enum Box: Equatable, Sendable {
        case details(Details)
    }

    private var box: Box

    /// The members of a problem.
    public struct Details: Equatable, Sendable {
        /// The HTTP status.
        public var status: Int
        /// The name of the code in the response; empty if the response has no code of the HTTP API.
        public var codeName: String
        /// The title of the code.
        public var title: String
        /// The cause and the remedy, for people.
        public var detail: String

        /// The violations of the schema.
        public var errors: [Violation] = []
        /// The names that were probably meant, the nearest first.
        public var didYouMean: [String] = []
        /// The line of the first error in a body that is not valid JSON, counted from 1.
        public var line: Int64?
        /// The column in that line, counted from 1.
        public var column: Int64?
        /// The location in the body of the request, or the location in the result of an operation.
        public var pointer: JSONPointer?
        /// The stored values that a new schema does not allow.
        public var conflicts: [SchemaConflict] = []
        /// The later changes because of which a commit cannot be undone.
        public var changes: [Change] = []
        /// The stored value if the schema does not allow it.
        public var stored: JSONValue?
        /// The oldest available revision of the history.
        public var oldest: Revision?
        /// The cursor of the daemon, if the request names a cursor that the daemon does not have.
        public var cursor: Cursor?
        /// The present state of the setting, suite or schema that a guard names.
        public var current: Problem.Current?
        /// The conditions of a transaction that do not hold, or the operations of a transaction that failed.
        public var failed: [Problem.FailedCondition] = []
        /// The limit that was exceeded.
        public var limit: Int64?
        /// The outcome of a write that failed because of the server.
        public var outcome: Problem.Outcome?
        /// The methods that the resource supports, as in the field `Allow`.
        public var allow: [String] = []
        /// The milliseconds after which a retry makes sense, as in the field `Retry-After`.
        public var retryAfterMs: Int64?
        /// The ended action, if the request concerns a pending action that has ended.
        package var pending: PendingDescription?
    }

    fileprivate init(_ details: Details) {
        box = .details(details)
    }

    fileprivate var details: Details {
        switch box {
        case .details(let details): details
        }
    }

    /// A member of the problem.
    ///
    /// - Parameter member: a property of ``Details``.
    public subscript<Value>(dynamicMember member: WritableKeyPath<Details, Value>) -> Value {
        get { details[keyPath: member] }
        set {
            var details = details
            details[keyPath: member] = newValue
            box = .details(details)
        }
    }

    /// Makes a problem of the HTTP API. If the code does not allow the status, uses the default status of the code.
    package init(
        _ code: ErrorCode, status: Int? = nil, outcome: Outcome? = nil, retryAfterMs: Int64? = nil, _ detail: String
    ) {
        let status = status.flatMap { code.statuses.contains($0) ? $0 : nil } ?? code.defaultStatus
        self.init(
            Details(
                status: status, codeName: code.rawValue, title: code.title, detail: detail, outcome: outcome,
                retryAfterMs: retryAfterMs))
    }

    /// The outcome of a write that the server could not complete.
    public enum Outcome: String, Hashable, Sendable {
        /// The write was not done, and the server will not do it later.
        case notDone = "not_done"
        /// The write may have been done. The client should read the setting, or repeat the request with its idempotency
        /// key.
        case unknown
    }

    /// The present state of a setting or a suite, for an answer to a condition that does not hold.
    public enum Current: Equatable, Sendable {
        /// A setting.
        case setting(SettingState)
        /// A suite with the revision of the suite or, if the guard names the schema, the revision of the schema. The
        /// revision is zero if the suite or the schema does not exist.
        case suite(SuiteRevision)
    }

    /// A condition of a transaction that does not hold, or an operation of a transaction that failed.
    public struct FailedCondition: Equatable, Sendable {
        /// The index among the conditions (`if`) or the operations (`do`) of the transaction, counted from 0. The
        /// index is among the conditions if the first token of the `pointer` of the problem is `if`.
        public var index: Int64
        /// The present state of the setting or suite in the condition or operation.
        public var current: Current

        package init(index: Int64, current: Current) {
            self.index = index
            self.current = current
        }
    }

    /// The status, the code and the detail in one line.
    public var description: String {
        self.codeName.isEmpty ? "\(self.status): \(self.detail)" : "\(self.status) \(self.codeName): \(self.detail)"
    }

    /// The code; nil if this version does not know it.
    public var code: ErrorCode? {
        ErrorCode(rawValue: self.codeName)
    }

    /// True if the same request may succeed later. A retry may do a write twice unless ``isKnownNotDone`` is true.
    public var isTransient: Bool {
        switch self.status {
        case 408, 425, 429, 502, 503, 504: true
        default: false
        }
    }

    /// True if the request certainly changed nothing: the daemon refused it, or the response says so. A server error
    /// without an outcome may have occurred after the write.
    public var isKnownNotDone: Bool {
        switch (self.outcome, self.status) {
        case (.notDone, _): true
        case (.unknown, _): false
        case (nil, 400..<500), (nil, 501), (nil, 505), (nil, 507): true
        default: false
        }
    }

    /// The value of the field `Retry-After`: whole seconds, rounded up.
    package var retryAfterSeconds: Int64? {
        self.retryAfterMs.map { max(0, $0) / 1000 + (max(0, $0) % 1000 > 0 ? 1 : 0) }
    }
}

extension Problem: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        details.write(to: &writer)
    }

    /// Reads an error response. Ignores members that cannot be read. The status of the response takes precedence over
    /// the status in the body.
    package init(status: Int, body: JSONValue?) {
        self.init(Details(status: status, members: body?.object ?? [:]))
    }
}

extension Problem.Details {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("type", "about:blank")
        writer.member("status", Int64(status))
        writer.member("title", title)
        writer.member("code", codeName)
        writer.member("detail", detail)
        writer.member("errors", unlessEmpty: errors)
        writer.member("didYouMean", unlessEmpty: didYouMean)
        writer.member("line", line)
        writer.member("column", column)
        writer.member("pointer", pointer)
        writer.member("conflicts", unlessEmpty: conflicts)
        if !changes.isEmpty { writer.member("changes", changes, as: .ofSeveralSuites) }
        writer.member("stored", stored)
        writer.member("oldest", oldest)
        writer.member("cursor", cursor)
        writer.member("current", current)
        writer.member("failed", unlessEmpty: failed)
        writer.member("limit", limit)
        writer.member("outcome", outcome?.rawValue)
        writer.member("allow", unlessEmpty: allow)
        writer.member("retryAfterMs", retryAfterMs)
        writer.member("pending", pending)
        writer.endObject()
    }

    fileprivate init(status: Int, members: JSONObject) {
        let codeName = members["code"]?.string ?? ""
        let title = members["title"]?.string ?? ErrorCode(rawValue: codeName)?.title ?? "HTTP status \(status)"
        self.init(status: status, codeName: codeName, title: title, detail: members["detail"]?.string ?? title)
        errors = Self.list(members["errors"], Violation.init(json:))
        didYouMean = Self.list(members["didYouMean"], String.init(json:))
        line = members["line"]?.integer
        column = members["column"]?.integer
        pointer = members["pointer"]?.string.flatMap { JSONPointer($0) }
        conflicts = Self.list(members["conflicts"], SchemaConflict.init(json:))
        changes = Self.list(members["changes"], Change.init(json:))
        stored = members["stored"]
        oldest = members["oldest"]?.integer.flatMap { Revision($0) }
        cursor = members["cursor"]?.string.flatMap { Cursor($0) }
        current = members["current"].flatMap { try? Problem.Current(json: $0) }
        failed = Self.list(members["failed"], Problem.FailedCondition.init(json:))
        limit = members["limit"]?.integer
        // A word that this version does not know may mean that the write was done.
        outcome = members["outcome"]?.string.map { Problem.Outcome(rawValue: $0) ?? .unknown }
        allow = Self.list(members["allow"], String.init(json:))
        retryAfterMs = members["retryAfterMs"]?.integer
        pending = members["pending"].flatMap { try? PendingDescription(json: $0) }
    }

    /// Reads the elements that can be read, so that an unreadable element does not hide the error.
    private static func list<Element>(
        _ json: JSONValue?, _ read: (JSONValue) throws(BodyError) -> Element
    ) -> [Element] {
        (json?.array ?? []).compactMap { try? read($0) }
    }
}

extension Problem.Current: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        if json["key"] == nil {
            self = .suite(try SuiteRevision(json: json))
        } else {
            self = .setting(try SettingState(json: json))
        }
    }

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .setting(let setting): setting.shownInErrors.write(to: &writer)
        case .suite(let suite): suite.write(to: &writer)
        }
    }
}

extension Problem.FailedCondition: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(index: try reader.required("index"), current: try reader.required("current"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("index", index)
        writer.member("current", current)
    }
}

/// Problems made from other errors.
extension Problem {
    package init(_ error: JSONParseError) {
        self.init(.badRequest, error.description)
        self.line = Int64(error.line)
        self.column = Int64(error.column)
    }

    package init(_ error: BodyError) {
        self.init(.badRequest, error.description)
        self.pointer = error.pointer
        self.didYouMean = error.didYouMean
    }

    package init(_ error: NameError) {
        self.init(.badRequest, error.description)
    }

    /// Makes a problem of a failed operation. If the operation concerned a secret, the problem contains no part of the
    /// value.
    package init(_ error: OperationError, ofSecret isSecret: Bool = false) {
        self.init(error.code, isSecret ? error.detailWithoutValues : error.detail)
        self.pointer = isSecret ? nil : error.pointer
    }

    /// Makes a problem with the first violation as its detail and all violations in `errors`. `bodyLocation` is the
    /// location, in the body of the request, of the value that the first violation concerns. The detail omits this
    /// location.
    package init(violations: [Violation], bodyLocation: JSONPointer = .root) {
        var first = violations.first
        if let pointer = first?.pointer.tokens, pointer.starts(with: bodyLocation.tokens) {
            first?.pointer = JSONPointer(Array(pointer.dropFirst(bodyLocation.tokens.count)))
        }
        let furtherViolations =
            violations.count > 1 ? "; \(Plural.count(violations.count - 1, "more violation"))" : ""
        self.init(.invalidValue, (first?.sentence ?? ErrorCode.invalidValue.title) + furtherViolations)
        self.errors = violations
    }
}

extension Problem {
    /// An estimate of the work to write the body. One unit is the work to write one JSON value or eight bytes of text.
    /// Each violation, change and present state costs eight further units for its other members. If the estimate
    /// exceeds the limit, returns some number above the limit.
    package func extent(upTo limit: Int) -> Int {
        var remaining = limit
        func subtract(_ errors: [Violation]) {
            for error in errors where remaining >= 0 {
                remaining -= 8 + (error.detail.utf8.count + (error.key?.utf8.count ?? 0)) / 8
            }
        }
        subtract(self.errors)
        for conflict in self.conflicts where remaining >= 0 {
            subtract(conflict.errors)
            _ = conflict.stored?.subtractExtent(from: &remaining)
        }
        for change in self.changes where remaining >= 0 {
            remaining -= 8
            _ =
                change.old?.subtractExtent(from: &remaining) ?? true
                && change.new?.subtractExtent(from: &remaining) ?? true
        }
        for current in [self.current].compactMap(\.self) + self.failed.map(\.current) where remaining >= 0 {
            remaining -= 8
            if case .setting(let setting) = current { _ = setting.value?.subtractExtent(from: &remaining) }
        }
        return limit - remaining
    }
}
