public import SettingsAPI
public import SettingsModel

/// Why a setting could not be read or written.
public enum DefaultsError: Error, Hashable, Sendable {
    /// The server refused it; ``code`` says why.
    indirect case refused(Problem)
    /// The value is beyond the key's type or limits, or what is stored is no value of the key.
    case invalid(InvalidValue)
    /// The key cannot be one: its name, its limits or its default.
    case unusableKey(String, SchemaError)
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
    indirect case namespaceTaken(NamespaceRegistry.Conflict)
    /// There was no answer, or none but that it cannot be done at present, for this reason.
    case unreachable(String)
    /// The server does not take it at present, for this reason. The write is kept: it is seen here, and is sent as soon as
    /// that works, also by a later run of the program. If it is refused then, that is an issue.
    case kept(String)
    /// The task was cancelled before it was its turn: nothing was done.
    case cancelled
    /// A file of kept writes or of the cache cannot be used as it is, for this reason.
    case unusableFile(path: String, reason: String)

    /// The server's code, if it was the server that refused.
    public var code: ErrorCode? {
        if case .refused(let problem) = self { problem.code } else { nil }
    }

    /// Whether somebody else had changed the setting meanwhile.
    public var isConflict: Bool {
        code == .preconditionFailed
    }

    init(_ error: BackendError) {
        switch error {
        case .refused(let problem): self = .refused(problem)
        case .unreachable(let reason, _), .unavailable(let reason, _): self = .unreachable(reason)
        case .kept(let reason): self = .kept(reason)
        }
    }
}

extension DefaultsError: CustomStringConvertible {
    /// The reason in a sentence.
    public var description: String {
        switch self {
        case .refused(let problem) where !problem.conflicts.isEmpty: Self.listing(problem.conflicts)
        case .refused(let problem): problem.description
        case .invalid(let error): error.description
        case .unusableKey(let name, let error):
            "\(name) cannot be a key: \(error.problems.map(\.detail).joined(separator: "; "))"
        case .unusableName(let error): error.description
        case .disagreement(let differences): differences.map(\.sentence).joined(separator: "; ")
        case .unusableSchema(let error): "the schema cannot be used: \(error)"
        case .shadowedKeys(let names):
            "members of the adapter hide \(names.joined(separator: ", ")): read by path, as "
                + "Defaults[\\.\(names.first ?? "")]"
        case .notTakenOver(let name, let error): "what is stored under the former name \(name) was left there: \(error)"
        case .namespaceTaken(let conflict): conflict.description
        case .unreachable(let reason): reason
        case .kept(let reason): "kept until the server takes it: \(reason)"
        case .cancelled: "the task was cancelled before anything was done"
        case .unusableFile(let path, let reason): "\(path): \(reason)"
        }
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
