import Platform
import SettingsHTTP

/// An exit code of the program. Scripts distinguish outcomes by the code.
enum ExitCode: Int32, CaseIterable {
    case done = 0
    case failed = 1
    case differs = 2
    case notSet = 3
    case unknown = 4
    case refused = 5
    case unauthorized = 6
    case unreachable = 7
    case timedOut = 8
    case clientFailed = 9
    case usage = 64

    /// The meaning of the code, for the help.
    var meaning: String {
        switch self {
        case .done: "done"
        case .failed: "failed for another reason"
        case .differs: "diff, plan, schema diff, schema apply --dry-run or render --diff found differences"
        case .notSet: "the setting has no value"
        case .unknown: "the suite, the schema, the key, the revision or the pending action does not exist"
        case .refused: "the daemon refused the change"
        case .unauthorized: "a credential is missing, or lacks a right"
        case .unreachable: "no daemon answered, the daemon is overloaded, or it accepts no writes at present"
        case .timedOut: "the time of --timeout or --confirm is over"
        case .clientFailed: "a client of the suite could not apply the change (--wait-for)"
        case .usage: "the command line is wrong"
        }
    }
}

/// The error if another caller changed a suite after the program had read the suite. The refused request has stored
/// nothing; earlier commits of a ``SplitCommit`` remain.
struct SuiteConflict: Error {
    let suite: SuiteName
}

/// An error that ends the program: the message that the program prints, and its exit code.
struct ToolError: Error {
    let code: ExitCode
    let message: String

    init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Makes the error for output that cannot be written.
    init(output cause: SystemError) {
        self.init(.failed, "cannot write the output: \(cause.reason)")
    }

    /// Makes the error for a secret that the caller may not read.
    init(concealed key: KeyName, in suite: SuiteName) {
        self.init(.unauthorized, "\(suite) \(key) is a secret, which this caller may not read")
    }

    /// Makes the error for an invalid command line.
    static func usage(_ message: String) -> ToolError {
        ToolError(.usage, message)
    }
}

extension ToolError {
    /// Converts an error that a command has thrown.
    init(describing error: any Error) {
        switch error {
        case let error as ToolError: self = error
        case let error as SettingsError: self.init(error)
        case let error as SuiteConflict:
            self.init(
                .refused,
                "cannot change the suite \(error.suite): another caller changed it meanwhile; run the command again")
        default: self.init(.failed, "\(error)")
        }
    }

    private init(_ error: SettingsError) {
        guard let problem = error.problem else {
            let code: ExitCode =
                switch error {
                case .unreachable, .timedOut, .malformedAnswer: .unreachable
                case .unusableToken: .unauthorized
                case .problem, .cancelled: .failed
                }
            self.init(code, error.description)
            return
        }
        self.init(ExitCode(problem), problem.lines.joined(separator: "\n"))
    }
}

extension ExitCode {
    fileprivate init(_ problem: Problem) {
        switch problem.code {
        // Each error of the daemon has a code, so a proxy has sent this error.
        case nil where problem.codeName.isEmpty: self = .unreachable
        case .notSet: self = .notSet
        // The errors list all unknown keys and all invalid values of a write. `unknown` means one unknown key only.
        case .unknownKey where problem.errors.count > 1: self = .refused
        case .unknownSuite, .unknownKey, .noSchema, .historyGone, .unknownPending: self = .unknown
        // The daemon has no separate error code for a revision that does not exist yet.
        case .badRequest where problem.detail.contains(" does not exist yet"): self = .unknown
        // The error for a quota has a limit, and the error for a full disk has no limit.
        case .insufficientStorage where problem.limit == nil: self = .unreachable
        case .unauthorized, .forbidden: self = .unauthorized
        case .shuttingDown, .overloaded, .behind, .tooManyRequests, .tooManyConnections: self = .unreachable
        // The daemon could not store a write. Without an outcome, it could not read a stored file.
        case .storageFailed where problem.outcome != nil: self = .unreachable
        default: self = (400..<500).contains(problem.status) || problem.status == 507 ? .refused : .failed
        }
    }
}

extension Problem {
    /// Phrases in messages of the daemon that tell HTTP clients what to do, each with the phrase for this command line.
    private static let replacements = [
        ("?override=locked", "--override"), ("\"force\":true", "--force"), ("?onConflict=skip", "--skip"),
        ("?onConflict=", "--on-conflict "), ("GET /v1/pending lists", "'settings pending' lists"),
        ("Settings-Confirm", "--confirm"), ("Settings-Until", "--until"), ("Settings-Effective", "--effective"),
        (
            "send the token as Authorization: Bearer TOKEN",
            "name a file that has the token with --token-file, or put the token into SETTINGS_TOKEN"
        ),
    ]

    /// The lines of the error message: the detail, then each violation of the schema, conflict and later change.
    fileprivate var lines: [String] {
        let detail = Self.replacements.reduce(self.detail) { text, pair in text.replacing(pair.0, with: pair.1) }
        var lines = [self.codeName.isEmpty ? "HTTP status \(description)" : detail.isEmpty ? description : detail]
        if let first = self.errors.first, detail.hasPrefix(first.relativeToValue.sentence) {
            lines = [first.relativeToValue.sentence]
            lines += self.errors.dropFirst().map { "  \($0.relativeToValue.sentence)" }
        } else {
            // The detail may already contain the first violation.
            let shownCount = self.errors.first.map { detail.contains($0.detail) } ?? false ? 1 : 0
            lines += self.errors.dropFirst(shownCount).map { "  \($0.relativeToValue.location)\($0.detail)" }
        }
        for conflict in self.conflicts {
            let key = conflict.key?.text ?? "the suite"
            lines += conflict.errors.map { "  \(key): \($0.detail)" }
        }
        // If an operation has failed, the pointer begins with `do`, and `failed` lists operations, not conditions.
        if code == .preconditionFailed, self.pointer?.tokens.first != "do" {
            lines += self.failed.map { "  the present state: \($0.current.phrase)" }
        }
        for change in self.changes { lines.append("  \(change.key.text) was changed by revision \(change.revision)") }
        if !self.didYouMean.isEmpty, !detail.contains("did you mean") {
            lines.append("  did you mean \(self.didYouMean.joined(separator: ", "))?")
        }
        if self.outcome == .unknown {
            lines.append("  the daemon may have stored the change; read the settings before you repeat the command")
        }
        return lines
    }
}

extension Problem.Current {
    /// A phrase for the present state of the suite or the setting that a condition names.
    fileprivate var phrase: String {
        switch self {
        case .suite(let suite): "the suite \(suite.suite) is at revision \(suite.revision)"
        case .setting(let setting):
            "\(setting.suite) \(setting.key) is \(setting.shown) (\(setting.source.name)), revision \(setting.revision)"
        }
    }
}

extension Violation {
    /// The violation with a pointer into the value of the setting. For a transaction, the pointer of the daemon begins
    /// with the operation, such as `/do/0/value`. Except for the command `transaction`, the program has made the
    /// transaction, so the user does not know its operations.
    fileprivate var relativeToValue: Violation {
        let tokens = pointer.tokens
        guard tokens.count >= 3, tokens[0] == "do", Int(tokens[1]) != nil, ["value", "key"].contains(tokens[2]) else {
            return self
        }
        var violation = self
        violation.pointer = JSONPointer(Array(tokens.dropFirst(3)))
        return violation
    }

    /// The key and the location in its value, as the beginning of a line. Empty if the violation has neither a key nor
    /// a location.
    fileprivate var location: String {
        let location = (key ?? "") + (pointer == .root ? "" : pointer.description)
        return location.isEmpty ? "" : "\(location): "
    }
}
