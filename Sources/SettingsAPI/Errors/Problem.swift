public import SettingsModel

/// An error as it is answered: the body of RFC 9457 with all that the contract may add to it.
///
/// The daemon makes problems from codes; a client also meets those of newer servers and of proxies between. So the
/// code is kept by its name, known or not, and what is unknown is judged by its status.
public struct Problem: Error, Hashable, Sendable {
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

    /// A problem of the contract; a status that the code may not have is replaced by its usual one.
    public init(_ code: ErrorCode, status: Int? = nil, _ detail: String) {
        self.status = status.flatMap { code.statuses.contains($0) ? $0 : nil } ?? code.defaultStatus
        codeName = code.rawValue
        title = code.title
        self.detail = detail
    }

    /// A problem that is none of the contract's, or not known here.
    init(status: Int, codeName: String, title: String, detail: String) {
        self.status = status
        self.codeName = codeName
        self.title = title
        self.detail = detail
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
        codeName.isEmpty ? "\(status): \(detail)" : "\(status) \(codeName): \(detail)"
    }
}
