public import SettingsModel

/// Why a setting could not be read or written.
public enum DefaultsError: Error, Hashable, Sendable {
    /// The server refused it; ``code`` says why.
    case refused(Problem)
    /// The value is beyond the key's type or limits, or what is stored is no value of the key.
    case invalid(InvalidValue)
    /// The key cannot be one: its name, its limits or its default.
    case unusableKey(String, SchemaError)
    /// The name cannot be a key's.
    case unusableName(NameError)
    /// Two types claim one namespace.
    case namespaceTaken(NamespaceRegistry.Conflict)
    /// There was no answer, for this reason.
    case unreachable(String)
    /// The server does not take it at present, for this reason. The write is kept: it is seen here, and is sent as soon as
    /// that works, also by a later run of the program. If it is refused then, that is an issue.
    case kept(String)
    /// A file of kept writes cannot be used as it is, for this reason.
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
        case .unreachable(let reason): self = .unreachable(reason)
        case .kept(let reason): self = .kept(reason)
        }
    }
}

extension DefaultsError: CustomStringConvertible {
    /// The reason in a sentence.
    public var description: String {
        switch self {
        case .refused(let problem): problem.description
        case .invalid(let error): error.description
        case .unusableKey(let name, let error):
            "\(name) cannot be a key: \(error.problems.map(\.detail).joined(separator: "; "))"
        case .unusableName(let error): error.description
        case .namespaceTaken(let conflict): conflict.description
        case .unreachable(let reason): reason
        case .kept(let reason): "kept until the server takes it: \(reason)"
        case .unusableFile(let path, let reason): "\(path): \(reason)"
        }
    }
}
