import Platform
import SettingsHTTP

/// A code that the program ends with. Scripts tell outcomes apart by it.
enum ExitCode: Int32, CaseIterable {
    case done = 0
    case failed = 1
    case differs = 2
    case notSet = 3
    case unknown = 4
    case refused = 5
    case unauthorized = 6
    case unreachable = 7
    case late = 8
    case usage = 64

    /// What the code says, for the help.
    var meaning: String {
        switch self {
        case .done: "done"
        case .failed: "failed for another reason"
        case .differs: "there are differences, or there is something to do"
        case .notSet: "the setting has no value"
        case .unknown: "the suite, the key or the revision does not exist"
        case .refused: "the daemon refused the change"
        case .unauthorized: "a credential is missing, or lacks a right"
        case .unreachable: "no daemon answered, or the daemon takes no writes now"
        case .late: "the time of --timeout or --confirm is over"
        case .usage: "the command line is wrong"
        }
    }
}

/// An error that says that another caller changed a suite after the program read it. Nothing was stored.
struct SuiteConflict: Error {
    let suite: SuiteName
}

/// An error that ends the program: what it prints, and the code that it ends with.
struct ToolError: Error {
    let code: ExitCode
    let message: String

    init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Makes the error of output that cannot be written.
    init(output cause: SystemError) {
        self.init(.failed, "cannot write the output: \(cause.reason)")
    }

    /// Makes the error of a secret that the caller may not read.
    init(concealed key: KeyName, in suite: SuiteName) {
        self.init(.unauthorized, "\(suite) \(key) is a secret, which this caller may not read")
    }

    /// An error of the command line.
    static func usage(_ message: String) -> ToolError {
        ToolError(.usage, message)
    }
}

extension ToolError {
    /// Makes the error of any that a command throws.
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
        case nil where problem.codeName.isEmpty: self = .unreachable
        case .notSet: self = .notSet
        case .unknownKey where problem.errors.count > 1: self = .refused
        case .unknownSuite, .unknownKey, .noSchema, .historyGone, .unknownPending: self = .unknown
        // The daemon has no code of its own for a revision of the future.
        case .badRequest where problem.detail.contains(" does not exist yet"): self = .unknown
        // A quota has a limit, a full disk has none.
        case .insufficientStorage where problem.limit == nil: self = .unreachable
        case .unauthorized, .forbidden: self = .unauthorized
        case .shuttingDown, .overloaded, .behind, .tooManyRequests, .tooManyConnections: self = .unreachable
        default: self = (400..<500).contains(problem.status) || problem.status == 507 ? .refused : .failed
        }
    }
}

extension Problem {
    /// The ways out that the daemon names, and the options that take them.
    private static let options = [
        ("?override=locked", "--override"), ("\"force\":true", "--force"), ("?onConflict=skip", "--skip"),
        ("?onConflict=", "--on-conflict "), ("GET /v1/pending lists", "'settings pending' lists"),
        ("Settings-Confirm", "--confirm"), ("Settings-Until", "--until"), ("Settings-Effective", "--effective"),
        (
            "send the token as Authorization: Bearer TOKEN",
            "name a file that has the token with --token-file, or put the token into SETTINGS_TOKEN"
        ),
    ]

    /// The cause in lines: the detail, then each violation, conflict and later change.
    fileprivate var lines: [String] {
        let detail = Self.options.reduce(self.detail) { text, option in text.replacing(option.0, with: option.1) }
        var lines = [self.codeName.isEmpty ? "HTTP status \(description)" : detail.isEmpty ? description : detail]
        if let first = self.errors.first, detail.hasPrefix(first.inValue.sentence) {
            lines = [first.inValue.sentence] + self.errors.dropFirst().map { "  \($0.inValue.sentence)" }
        } else {
            // The detail may be about the first one.
            let rest = self.errors.first.map { detail.contains($0.detail) } ?? false ? 1 : 0
            lines += self.errors.dropFirst(rest).map { "  \($0.inValue.place)\($0.detail)" }
        }
        for conflict in self.conflicts {
            let key = conflict.key?.text ?? "the suite"
            lines += conflict.errors.map { "  \(key): \($0.detail)" }
        }
        if code == .preconditionFailed, self.pointer?.tokens.first != "do" {
            lines += self.failed.map { "  condition \($0.index): \($0.current.phrase)" }
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
    /// The present state of the suite or the setting of a condition.
    fileprivate var phrase: String {
        switch self {
        case .suite(let suite): "the suite \(suite.suite) is at revision \(suite.revision)"
        case .setting(let setting):
            "\(setting.suite) \(setting.key) is \(setting.shown) (\(setting.source.name)), revision \(setting.revision)"
        }
    }
}

extension Violation {
    /// The same, at a place in the value: a transaction names its operation before that, which the caller did not write.
    fileprivate var inValue: Violation {
        let tokens = pointer.tokens
        guard tokens.count >= 3, tokens[0] == "do", Int(tokens[1]) != nil, ["value", "key"].contains(tokens[2]) else {
            return self
        }
        var violation = self
        violation.pointer = JSONPointer(Array(tokens.dropFirst(3)))
        return violation
    }

    fileprivate var place: String {
        let place = (key ?? "") + (pointer == .root ? "" : pointer.description)
        return place.isEmpty ? "" : "\(place): "
    }
}
