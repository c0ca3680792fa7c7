internal import Platform
internal import Synchronization

/// A token that a client presents to a daemon whose callers need grants.
///
/// It is given to a client in code, or for the whole process by ``standard``, which begins as the file that
/// `SETTINGS_TOKEN_FILE` names. It goes to the daemon alone: no description, error or log has its text.
public final class AccessToken: Sendable {
    /// The environment variable that names a file with the token.
    package static let variable = "SETTINGS_TOKEN_FILE"

    enum Source: Sendable {
        case text(Result<String, TokenError>)
        case file(AccessTokenFile)
    }

    let source: Source

    /// The token itself, as `settingsd token create` prints it.
    ///
    /// - Parameter text: the token. Blanks and line ends around it do not count.
    public init(_ text: String) {
        source = .text(
            TokenText.parse(Array(text.utf8)).mapError { fault in
                TokenError(kind: fault.kind, message: "cannot send the token: \(fault.reason)")
            })
    }

    /// A token in a regular file.
    ///
    /// The client reads the file for the first request, and again after the daemon refuses the token, so that a program
    /// gets a new token without a restart. If the file cannot be read or has no valid token in it, a request fails with
    /// ``SettingsError/unusableToken(_:outcome:)``, and the next request reads the file again. If the file system does not
    /// answer, only the requests with this token wait, until their deadlines.
    ///
    /// - Parameter path: the path of the file, which contains only the token.
    public convenience init(file path: String) {
        self.init(.file(AccessTokenFile(path, from: nil)))
    }

    /// A token in a file whose path is the value of an environment variable.
    package convenience init(file path: String, from variable: String) {
        self.init(.file(AccessTokenFile(path, from: variable)))
    }

    /// A token in a file that may also be a pipe, or in standard input if the path is `-`.
    package convenience init(fileOrPipe path: String, from variable: String?) {
        self.init(
            .file(
                AccessTokenFile(path, from: variable) { path in
                    Result { () throws(UnreadableFile) in
                        try FileContents.readRegularFileOrPipe(path, upTo: AccessTokenFile.maximumLength + 1)
                    }
                }))
    }

    init(_ source: Source) {
        self.source = source
    }

    private static let shared = Mutex<AccessToken?>(
        EnvironmentVariables.nonEmptyValue(of: variable).map { AccessToken(file: $0, from: variable) })

    /// The token of all clients of the process that were not given one of their own; nil for none.
    public static var standard: AccessToken? {
        get { shared.withLock { $0 } }
        set { shared.withLock { $0 = newValue } }
    }

    /// Reads the file of the token, unless it is known. Blocks the calling thread, at most until the deadline.
    package func load(by deadline: ContinuousClock.Instant) throws(TokenError) {
        switch source {
        case .text(let token): _ = try token.get()
        case .file(let file): _ = try file.content(by: deadline).get()
        }
    }
}

/// No text of the token, whatever prints it.
extension AccessToken: CustomStringConvertible, CustomReflectable {
    /// Where the token is from.
    public var description: String {
        if case .file(let file) = source { "token of \(file.path)" } else { "token" }
    }

    /// A mirror that shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
