internal import SettingsAPI
public import SettingsKeys
internal import SettingsModel

/// An error where nothing could be thrown: in a getter or a setter.
public struct DefaultsIssue: Equatable, Sendable {
    /// The kind of access that failed.
    public enum Attempt: Hashable, Sendable {
        /// A read; the default was given.
        case read
        /// A write. The value is what it was before, or with the error ``DefaultsError/kept(_:)`` what was written, which
        /// waits.
        case write
        /// A comparison of keys with the server's schema; what is read is what is there.
        case check
    }

    /// The suite.
    public let suite: SuiteName
    /// The key; nil if it was about the whole suite.
    public let key: String?
    /// What was tried.
    public let attempt: Attempt
    /// Why it failed.
    public let error: DefaultsError
}

extension DefaultsIssue {
    /// The suite and the key of an issue.
    struct Subject: Sendable {
        let suite: SuiteName
        let key: String
    }
}

extension DefaultsIssue: CustomStringConvertible {
    /// The line that the issue has in a log.
    public var description: String { "settings: \(message)" }
}

/// An error of reading or writing a setting.
public enum DefaultsError: Error, Equatable, Sendable {
    /// The server refused it; ``code`` says why.
    case refused(Refusal)
    /// The value is beyond the key's type or limits, or what is stored is no value of the key.
    case invalid(InvalidValue)
    /// The key cannot be one: its name, its limits or its default.
    case unusableKey(String, SchemaError)
    /// An argument of the command line is ignored, because its value is no value of the key.
    case invalidArgument(String, InvalidValue)
    /// The name cannot be a key's.
    case unusableName(NameError)
    /// The program's keys and the server's schema disagree.
    case disagreement([SchemaDifference])
    /// The keys make no schema, or the server's is none that is known here.
    case unusableSchema(SchemaError)
    /// Keys that are hidden by members of the adapter: only `Defaults[\.name]` reaches them.
    case shadowedKeys([String])
    /// What is stored under the former name of a key was left there, for this reason.
    indirect case notTakenOver(from: String, DefaultsError)
    /// Two types claim one namespace.
    indirect case namespaceTaken(NamespaceConflict)
    /// The server does not answer, or answers that it cannot do it at present, for this reason.
    case unreachable(String)
    /// The server does not take it at present, for this reason. The write is kept: it is seen here, and is sent as soon as
    /// that works, also by a later run of the program. If it is refused then, that is an issue.
    case kept(String)
    /// The task was cancelled before it was its turn: nothing was done.
    case cancelled
    /// The request was not sent, because its token cannot be read or is not a valid token. The text is a complete message,
    /// which contains the path of a token file and the name of an environment variable.
    case unusableToken(String)
    /// A file of kept writes or of the cache cannot be used as it is, for this reason.
    case unusableFile(path: String, reason: String)

    /// The server's code, if it was the server that refused.
    public var code: ErrorCode? {
        if case .refused(let refusal) = self { refusal.code } else { nil }
    }

    /// True if the setting had been changed meanwhile.
    public var isConflict: Bool {
        code == .preconditionFailed
    }

    package init(_ error: BackendError) {
        switch error {
        case .refused(let problem): self = .refused(Refusal(problem))
        case .unreachable(let reason, _), .unavailable(let reason, _): self = .unreachable(reason)
        case .queued(let reason): self = .kept(reason)
        case .cancelled: self = .cancelled
        case .unusable(let reason): self = .unreachable(reason)
        case .unusableToken(let reason): self = .unusableToken(reason)
        }
    }
}

extension DefaultsError: CustomStringConvertible {
    /// The reason in a sentence.
    public var description: String {
        switch self {
        case .refused(let refusal): refusal.message
        case .invalid(let error): error.description
        case .unusableKey(let name, let error):
            "\(name) cannot be a key: \(error.problems.map(\.detail).joined(separator: "; "))"
        case .invalidArgument(let argument, let error): "the argument \(argument) is ignored: \(error)"
        case .unusableName(let error): error.description
        case .disagreement(let differences): differences.map(\.sentence).joined(separator: "; ")
        case .unusableSchema(let error): "the schema cannot be used: \(error)"
        case .shadowedKeys(let names):
            "members of the adapter hide \(names.joined(separator: ", ")): read by path, as "
                + "Defaults[\\.\(names.first ?? "")]"
        case .notTakenOver(let name, let error): "what is stored under the former name \(name) was left there: \(error)"
        case .namespaceTaken(let conflict): conflict.description
        case .unreachable(let reason), .unusableToken(let reason): reason
        case .kept(let reason): "kept until the server takes it: \(reason)"
        case .cancelled: "the task was cancelled before anything was done"
        case .unusableFile(let path, let reason): "\(path): \(reason)"
        }
    }
}

/// A refusal of the server.
public struct Refusal: Equatable, Sendable {
    /// The reason; nil for one that this program does not know.
    public let code: ErrorCode?
    /// The reason in a sentence.
    public let message: String

    init(_ code: ErrorCode, _ detail: String) {
        self.init(Problem(code, detail))
    }

    init(_ problem: Problem) {
        code = problem.code
        message = problem.conflicts.isEmpty ? problem.description : Self.listing(problem.conflicts)
    }

    /// Each key that a new schema does not fit, as far as there is room.
    private static func listing(_ conflicts: [SchemaConflict]) -> String {
        let most = 16
        let listed = conflicts.prefix(most).map { conflict in
            conflict.errors.first?.sentence ?? conflict.key?.text ?? "the suite"
        }
        let more = conflicts.count > most ? " (and \(conflicts.count - most) more)" : ""
        return "what is stored does not fit the schema: \(listed.joined(separator: "; "))\(more)"
    }
}
