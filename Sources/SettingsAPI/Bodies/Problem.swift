public import SettingsModel

/// A body of RFC 9457 that answers a request with an error.
///
/// The daemon makes problems from codes. A client also meets those of newer servers and of proxies, so the code is kept by its
/// name, and an unknown one is judged by its status.
@dynamicMemberLookup
public struct Problem: Error, Equatable, Sendable, CustomStringConvertible {
    /// One pointer: a problem has twenty members, and many functions pass it on when it is thrown.
    private indirect enum Box: Equatable, Sendable {
        case details(Details)
    }

    private var box: Box

    /// The members of a problem.
    public struct Details: Equatable, Sendable {
        /// The HTTP status.
        public var status: Int
        /// The code by its name on the wire; empty if the answer is none of the contract's.
        public var codeName: String
        /// The kind of error, the same for each of its occurrences.
        public var title: String
        /// The cause, for people.
        public var detail: String

        /// All violations of the schema.
        public var errors: [Violation] = []
        /// The names that may have been meant, nearest first.
        public var didYouMean: [String] = []
        /// The line of the body at which it is not JSON, from 1.
        public var line: Int64?
        /// The column of that line, from 1.
        public var column: Int64?
        /// The place in the request's body, or for an operation in its result.
        public var pointer: JSONPointer?
        /// The stored values that a new schema does not fit.
        public var conflicts: [SchemaConflict] = []
        /// The later changes that keep a commit from being undone.
        public var changes: [Change] = []
        /// The stored value, where it does not match the schema in force.
        public var stored: JSONValue?
        /// The oldest revision that history goes back to.
        public var oldest: Revision?
        /// The place in history that the daemon has, where that is not the one asked for.
        public var cursor: Cursor?
        /// The present state of what a guard was about.
        public var current: Problem.Current?
        /// The conditions of a transaction that do not hold.
        public var failed: [Problem.FailedCondition] = []
        /// The limit that was exceeded.
        public var limit: Int64?
        /// The outcome of a write that failed on the server's side.
        public var outcome: Problem.Outcome?
        /// The methods of the resource, as in `Allow`.
        public var allow: [String] = []
        /// The milliseconds to wait before a retry, as in `Retry-After`.
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

    /// Makes a problem of the contract. A status that the code may not have is replaced by its usual one.
    package init(
        _ code: ErrorCode, status: Int? = nil, outcome: Outcome? = nil, retryAfterMs: Int64? = nil, _ detail: String
    ) {
        let status = status.flatMap { code.statuses.contains($0) ? $0 : nil } ?? code.defaultStatus
        self.init(
            Details(
                status: status, codeName: code.rawValue, title: code.title, detail: detail, outcome: outcome,
                retryAfterMs: retryAfterMs))
    }

    /// The outcome of a write that the server could not finish.
    public enum Outcome: String, Hashable, Sendable {
        /// The write was not done and will not be.
        case notDone = "not_done"
        /// The write may have been done: read, or repeat it with its idempotency key.
        case unknown
    }

    /// The subject of a guard in its present state.
    public enum Current: Equatable, Sendable {
        /// A setting.
        case setting(SettingState)
        /// A suite and its revision; zero if there is none.
        case suite(SuiteRevision)
    }

    /// A condition of a transaction that does not hold, or an operation of it that failed.
    public struct FailedCondition: Equatable, Sendable {
        /// The position among the conditions or operations, from 0.
        public var index: Int64
        /// The present state of its subject.
        public var current: Current

        package init(index: Int64, current: Current) {
            self.index = index
            self.current = current
        }
    }

    /// Status, code and detail in one line.
    public var description: String {
        self.codeName.isEmpty ? "\(self.status): \(self.detail)" : "\(self.status) \(self.codeName): \(self.detail)"
    }

    /// The code, if it is one of the contract as this version knows it.
    public var code: ErrorCode? {
        ErrorCode(rawValue: self.codeName)
    }

    /// True if a retry of the same request may succeed. It could be done twice then: see ``isKnownNotDone``.
    public var isTransient: Bool {
        switch self.status {
        case 408, 425, 429, 502, 503, 504: true
        default: false
        }
    }

    /// True if the request certainly changed nothing: it was refused, or the server says so. A failure without an outcome may
    /// have happened after the write.
    public var isKnownNotDone: Bool {
        switch (self.outcome, self.status) {
        case (.notDone, _): true
        case (.unknown, _): false
        case (nil, 400..<500), (nil, 501), (nil, 505), (nil, 507): true
        default: false
        }
    }

    /// The value of `Retry-After`: whole seconds, rounded up.
    package var retryAfterSeconds: Int64? {
        self.retryAfterMs.map { max(0, $0) / 1000 + (max(0, $0) % 1000 > 0 ? 1 : 0) }
    }
}

extension Problem: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        details.write(to: &writer)
    }

    /// Reads as much as possible of an error's answer. The status of the answer counts, not the one in the body.
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
        // An unknown word is no promise that nothing was done.
        outcome = members["outcome"]?.string.map { Problem.Outcome(rawValue: $0) ?? .unknown }
        allow = Self.list(members["allow"], String.init(json:))
        retryAfterMs = members["retryAfterMs"]?.integer
        pending = members["pending"].flatMap { try? PendingDescription(json: $0) }
    }

    /// Reads the elements that can be read: the error must get through, whatever else came with it.
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

/// Problems made from the errors of this module.
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

    /// Makes a problem of a failed operation. Of a secret it repeats nothing that comes from the value.
    package init(_ error: OperationError, ofSecret isSecret: Bool = false) {
        self.init(error.code, isSecret ? error.detailWithoutValues : error.detail)
        self.pointer = isSecret ? nil : error.pointer
    }

    /// Makes a problem with the first violation as its detail and all violations in `errors`. The detail omits
    /// `bodyLocation`, the location of the first value in the body of the request.
    package init(violations: [Violation], bodyLocation: JSONPointer = .root) {
        var first = violations.first
        if let pointer = first?.pointer.tokens, pointer.starts(with: bodyLocation.tokens) {
            first?.pointer = JSONPointer(Array(pointer.dropFirst(bodyLocation.tokens.count)))
        }
        let more = violations.count > 1 ? "; \(Plural.count(violations.count - 1, "more violation"))" : ""
        self.init(.invalidValue, (first?.sentence ?? ErrorCode.invalidValue.title) + more)
        self.errors = violations
    }
}

extension Problem {
    /// The extent of the body: that of its values, eight units for each violation, and one for each eight bytes of text. If the extent exceeds a
    /// limit, returns any number above the limit.
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
