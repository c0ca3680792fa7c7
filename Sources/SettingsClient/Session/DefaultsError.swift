internal import SettingsAPI
public import SettingsKeys
internal import SettingsModel

/// The report of an error that no call throws, for example because a getter or a setter cannot throw.
public struct DefaultsIssue: Equatable, Sendable {
    /// The kind of access that failed.
    public enum Attempt: Hashable, Sendable {
        /// A read. In most cases, the getter returned the default. An issue without a key is about the load of the
        /// suite, or about its changes, which the adapter does not get at present.
        case read
        /// A write. The adapter has rolled the value back, except after two errors. After ``DefaultsError/kept(_:)``,
        /// the write waits in the outbox, and the program reads the new value. After
        /// ``DefaultsError/unusableFile(path:reason:)``, the adapter continues without the file.
        case write
        /// A check that affects neither reads nor writes, for example the comparison of keys with the schema of the
        /// daemon.
        case check
    }

    /// The suite.
    public let suite: SuiteName
    /// The name of the key. Nil if the issue is about the whole suite.
    public let key: String?
    /// The kind of access that failed.
    public let attempt: Attempt
    /// The reason.
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
    /// The issue as a line of a log.
    public var description: String { "settings: \(message)" }
}

/// An error of reading or writing a setting.
public enum DefaultsError: Error, Equatable, Sendable {
    /// The daemon refused the request. ``code`` has the reason.
    case refused(Refusal)
    /// The type or the limits of the key do not allow the value, or the stored value is not a valid value of the key.
    case invalid(InvalidValue)
    /// The name, the limits or the default of the key are not valid.
    case unusableKey(String, SchemaError)
    /// A command line argument is ignored, because its value is not a valid value of the key.
    case invalidArgument(String, InvalidValue)
    /// The name is not a valid name of a key.
    case unusableName(NameError)
    /// The program's keys differ from the schema of the daemon.
    case disagreement([SchemaDifference])
    /// The keys cannot form a schema, or this version of the library cannot read the schema of the daemon.
    case unusableSchema(SchemaError)
    /// The adapter has members with the same names as these keys. `Defaults.name` is the member, so the program must
    /// use `Defaults[\.name]` for the key.
    case shadowedKeys([String])
    /// The value under a former name of a key could not be moved to the key, or a value of a former type could not be
    /// converted, for this reason. The value stays as it is, under the name `from`.
    indirect case notTakenOver(from: String, DefaultsError)
    /// Two types have the same namespace, the prefix of the names of their keys (SettingsClientCompatibility).
    indirect case namespaceTaken(NamespaceConflict)
    /// The daemon does not answer, or cannot carry out the request at present, for this reason. Also reported if the
    /// address of the daemon or the name of the suite is not valid.
    case unreachable(String)
    /// The daemon has not confirmed the write yet, for this reason. The write waits in the outbox. Getters return the
    /// new value, and the adapter, or a later run of the program, sends the write again. If the daemon then refuses the
    /// write, the adapter reports an issue.
    case kept(String)
    /// The task was cancelled before the request was sent.
    case cancelled
    /// The request was not sent, because its token cannot be read or is not a valid token. The text is a complete
    /// message, which names the token file or the environment variable.
    case unusableToken(String)
    /// An outbox file or a cache file cannot be used, for this reason.
    case unusableFile(path: String, reason: String)

    /// The code of the daemon's refusal. Nil for other errors, and if this version of the library does not know the
    /// code.
    public var code: ErrorCode? {
        if case .refused(let refusal) = self { refusal.code } else { nil }
    }

    /// True if the daemon refused a write because another program had changed the setting.
    package var isConflict: Bool {
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
            "\(name) is not a valid key: \(error.problems.map(\.detail).joined(separator: "; "))"
        case .invalidArgument(let argument, let error): "ignored the launch argument \(argument): \(error)"
        case .unusableName(let error): error.description
        case .disagreement(let differences): differences.map(\.sentence).joined(separator: "; ")
        case .unusableSchema(let error): "cannot use the schema: \(error)"
        case .shadowedKeys(let names):
            "members of the adapter hide keys of the same name: \(names.joined(separator: ", ")); use the path of "
                + "such a key, as in Defaults[\\.\(names.first ?? "")]"
        case .notTakenOver(let name, let error):
            "cannot move or convert the stored value of \(name): \(error)"
        case .namespaceTaken(let conflict): conflict.description
        case .unreachable(let reason), .unusableToken(let reason): reason
        case .kept(let reason): "the write waits for the daemon: \(reason)"
        case .cancelled: "the task was cancelled before the request was sent"
        case .unusableFile(let path, let reason): "\(path): \(reason)"
        }
    }
}

/// A refusal by the daemon.
public struct Refusal: Equatable, Sendable {
    /// The code of the reason. Nil if this version of the library does not know the code.
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

    /// Returns a message with the first 16 keys whose stored values do not match a new schema.
    private static func listing(_ conflicts: [SchemaConflict]) -> String {
        let maxListed = 16
        let listed = conflicts.prefix(maxListed).map { conflict in
            conflict.errors.first?.sentence ?? conflict.key?.text ?? "the suite"
        }
        let more = conflicts.count > maxListed ? " (and \(conflicts.count - maxListed) more)" : ""
        return "stored values do not match the schema: \(listed.joined(separator: "; "))\(more)"
    }
}
