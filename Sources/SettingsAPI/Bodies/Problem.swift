public import SettingsModel

/// An error as it is answered: the body of RFC 9457 with all that the contract may add to it.
///
/// The daemon makes problems from codes; a client also meets those of newer servers and of proxies between. So the
/// code is kept by its name, known or not, and what is unknown is judged by its status.
@dynamicMemberLookup
public struct Problem: Error, Hashable, Sendable {
    private indirect enum Box: Hashable, Sendable {
        case details(Details)
    }

    /// One pointer: a problem has twenty members, and many functions pass it on when it is thrown.
    private var box: Box

    private init(_ details: Details) {
        box = .details(details)
    }

    /// A member of the problem.
    ///
    /// - Parameter member: a property of ``Details``.
    public subscript<Value>(dynamicMember member: WritableKeyPath<Details, Value>) -> Value {
        get {
            switch box {
            case .details(let details): details[keyPath: member]
            }
        }
        set {
            switch box {
            case .details(var details):
                details[keyPath: member] = newValue
                box = .details(details)
            }
        }
    }

    /// A problem of the contract; a status that the code may not have is replaced by its usual one.
    public init(_ code: ErrorCode, status: Int? = nil, _ detail: String) {
        let status = status.flatMap { code.statuses.contains($0) ? $0 : nil } ?? code.defaultStatus
        self.init(Details(status: status, codeName: code.rawValue, title: code.title, detail: detail))
    }

    /// A problem that is none of the contract's, or not known here.
    init(status: Int, codeName: String, title: String, detail: String) {
        self.init(Details(status: status, codeName: codeName, title: title, detail: detail))
    }
}

extension Problem {
    /// The members of a problem.
    public struct Details: Hashable, Sendable {
        /// The HTTP status.
        public var status: Int
        /// The code by its name on the wire; empty if the answer was none of the contract's.
        public var codeName: String
        /// What kind of error this is, the same for each of its occurrences.
        public var title: String
        /// What went wrong this time, for people.
        public var detail: String

        /// All violations of the schema.
        public var errors: [Violation] = []
        /// The names that may have been meant, nearest first.
        public var didYouMean: [String] = []
        /// The line of the body at which it is no JSON, from 1.
        public var line: Int64?
        /// The column of that line, from 1.
        public var column: Int64?
        /// The place in the request's body, or for an operation in its result.
        public var pointer: JSONPointer?
        /// The stored values that a new schema does not fit.
        public var conflicts: [SchemaConflict] = []
        /// What is stored, where it does not fit the schema in force.
        public var stored: JSONValue?
        /// The oldest revision that history goes back to.
        public var oldest: Revision?
        /// What a guard was about, as it is.
        public var current: Current?
        /// The conditions of a transaction that do not hold.
        public var failed: [FailedCondition] = []
        /// The limit that was exceeded.
        public var limit: Int64?
        /// Whether a write that failed on the server's side may have been done.
        public var outcome: Outcome?
        /// The methods that the resource knows: what `Allow` says.
        public var allow: [String] = []
        /// When to try again, in milliseconds: what `Retry-After` says in seconds.
        public var retryAfterMs: Int64?
    }
}

extension Problem {
    /// What became of a write that the server could not finish.
    public enum Outcome: String, Hashable, Sendable {
        /// It was not done and will not be.
        case notDone = "not_done"
        /// It may have been done: ask, or repeat it with its idempotency key.
        case unknown
    }

    /// What a guard was about.
    public enum Current: Hashable, Sendable {
        /// A setting.
        case setting(SettingState)
        /// A suite and its revision; zero if there is none.
        case suite(SuiteRevision)
    }

    /// A condition of a transaction that does not hold, or an operation of it that failed.
    public struct FailedCondition: Hashable, Sendable {
        /// Which of the conditions or operations, from 0.
        public var index: Int64
        /// What it is about, as that is.
        public var current: Current

        /// A failed condition.
        public init(index: Int64, current: Current) {
            self.index = index
            self.current = current
        }
    }
}

extension Problem: CustomStringConvertible {
    /// Status, code and detail in one line.
    public var description: String {
        self.codeName.isEmpty ? "\(self.status): \(self.detail)" : "\(self.status) \(self.codeName): \(self.detail)"
    }
}

extension Problem: JSONWritable {
    /// Writes the body of `application/problem+json`; what the problem does not say is left out.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("type", "about:blank" as String)
        writer.member("status", Int64(self.status))
        writer.member("title", self.title)
        writer.member("code", self.codeName)
        writer.member("detail", self.detail)
        writer.member("errors", unlessEmpty: self.errors)
        if !self.didYouMean.isEmpty { writer.member("didYouMean", self.didYouMean.map(JSONValue.string)) }
        writer.member("line", self.line)
        writer.member("column", self.column)
        writer.member("pointer", self.pointer)
        writer.member("conflicts", unlessEmpty: self.conflicts)
        writer.member("stored", self.stored)
        writer.member("oldest", self.oldest)
        writer.member("current", self.current)
        writer.member("failed", unlessEmpty: self.failed)
        writer.member("limit", self.limit)
        writer.member("outcome", self.outcome?.rawValue)
        if !self.allow.isEmpty { writer.member("allow", self.allow.map(JSONValue.string)) }
        writer.member("retryAfterMs", self.retryAfterMs)
        writer.endObject()
    }
}

extension Problem {
    /// Understands as much as it can of an error's answer, whoever made it.
    ///
    /// Never fails: what is missing or of another kind is left out, without a code the title is the status. The status
    /// of the answer counts, not the one in the body.
    public init(status: Int, body: JSONValue?) {
        let members = body?.object ?? JSONObject()
        let codeName = members["code"]?.string ?? ""
        let code = ErrorCode(rawValue: codeName)
        let title = members["title"]?.string ?? code?.title ?? "HTTP status \(status)"
        self.init(status: status, codeName: codeName, title: title, detail: members["detail"]?.string ?? title)
        self.errors = Self.list(members["errors"], Violation.init(json:))
        self.didYouMean = Self.list(members["didYouMean"], BodyValue.string)
        self.line = members["line"]?.integer
        self.column = members["column"]?.integer
        self.pointer = members["pointer"]?.string.flatMap { JSONPointer($0) }
        self.conflicts = Self.list(members["conflicts"], SchemaConflict.init(json:))
        self.stored = members["stored"]
        self.oldest = members["oldest"]?.integer.flatMap { Revision($0) }
        self.current = members["current"].flatMap { try? Current(json: $0) }
        self.failed = Self.list(members["failed"], FailedCondition.init(json:))
        self.limit = members["limit"]?.integer
        // A word that is not known here is no promise that nothing was done.
        self.outcome = members["outcome"]?.string.map { Outcome(rawValue: $0) ?? .unknown }
        self.allow = Self.list(members["allow"], BodyValue.string)
        self.retryAfterMs = members["retryAfterMs"]?.integer
    }

    /// The elements that can be read. Whoever was told of an error must get it, whatever else came with it.
    private static func list<Element>(
        _ json: JSONValue?, _ read: (JSONValue) throws(BodyError) -> Element
    ) -> [Element] {
        (json?.array ?? []).compactMap { try? read($0) }
    }
}

extension Problem.Current: JSONReadable, JSONWritable {
    /// Reads a setting, or a suite with its revision where no key is named.
    public init(json: JSONValue) throws(BodyError) {
        if json["key"] == nil {
            self = .suite(try SuiteRevision(json: json))
        } else {
            self = .setting(try SettingState(json: json))
        }
    }

    /// Writes the setting or the suite; of a secret, not the value.
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .setting(let setting): setting.toldInErrors.write(to: &writer)
        case .suite(let suite): suite.write(to: &writer)
        }
    }
}

extension Problem.FailedCondition: JSONReadable, JSONWritable {
    /// Reads one entry of `failed`.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(index: try reader.required("index"), current: try reader.required("current"))
    }

    /// Writes one entry of `failed`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("index", index)
        writer.member("current", current)
        writer.endObject()
    }
}

/// What a problem means to whoever sent the request.
extension Problem {
    /// The code, if it is one of the contract as it is known here.
    public var code: ErrorCode? {
        ErrorCode(rawValue: self.codeName)
    }

    /// Whether the same request may succeed when it is sent again later, without anybody changing it. Whether sending
    /// it again could do it twice is another question: see ``isKnownNotDone``.
    public var isTransient: Bool {
        switch self.status {
        case 408, 425, 429, 502, 503, 504: true
        default: false
        }
    }

    /// Whether the request certainly changed nothing: it was refused for what it is, or the server says so. A failure
    /// that says nothing of its outcome may have happened after the write.
    public var isKnownNotDone: Bool {
        switch (self.outcome, self.status) {
        case (.notDone, _): true
        case (.unknown, _): false
        case (nil, 400..<500), (nil, 501), (nil, 505), (nil, 507): true
        default: false
        }
    }

    /// What to say in `Retry-After`: whole seconds, rounded up.
    public var retryAfterSeconds: Int64? {
        self.retryAfterMs.map { max(0, $0) / 1000 + (max(0, $0) % 1000 > 0 ? 1 : 0) }
    }
}

/// Problems made from the errors of this module.
extension Problem {
    /// A body that is no JSON.
    public init(_ error: JSONParseError) {
        self.init(.badRequest, error.description)
        self.line = Int64(error.line)
        self.column = Int64(error.column)
    }

    /// A body that has not the form it should have.
    public init(_ error: BodyError) {
        self.init(.badRequest, error.description)
        self.pointer = error.pointer
        self.didYouMean = error.didYouMean
    }

    /// A name that is none.
    public init(_ error: NameError) {
        self.init(.badRequest, error.description)
    }

    /// An operation that could not be done; of a secret, nothing is told that comes from its value.
    public init(_ error: OperationError, ofSecret isSecret: Bool = false) {
        self.init(error.code, isSecret ? error.detailWithoutValues : error.detail)
        self.pointer = isSecret ? nil : error.pointer
    }

    /// Values that break the schema; the first violation is told in the detail, all of them in `errors`.
    public init(violations: [Violation]) {
        let first = violations.first?.sentence ?? ErrorCode.invalidValue.title
        let more = violations.count > 1 ? " (and \(violations.count - 1) more)" : ""
        self.init(.invalidValue, first + more)
        self.errors = violations
    }
}
