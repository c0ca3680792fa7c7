internal import Platform
internal import Synchronization

/// A token that a client sends to a daemon with access control.
///
/// A program gives the token to a client, or sets ``standard`` for the whole process. Only the daemon gets the text of
/// the token: no description, error or log contains the text.
public final class AccessToken: Sendable {
    /// The environment variable that contains the path of a file with the token.
    package static let fileVariable = "SETTINGS_TOKEN_FILE"
    /// The environment variable that contains the token. It is used only if the variable `SETTINGS_TOKEN_FILE` is not
    /// set or is empty.
    package static let textVariable = "SETTINGS_TOKEN"

    enum Source: Sendable {
        /// The token, or the error with which each request fails because the text is not a valid token.
        case text(Result<String, TokenError>)
        case file(AccessTokenFile)
    }

    let source: Source

    /// Creates a token from its text, as `settingsd token create` prints it.
    ///
    /// - Parameter text: the token. Blanks and line ends before and after the token are removed.
    public convenience init(_ text: String) {
        self.init(text, from: nil)
    }

    /// - Parameter variable: the environment variable that contains the text, for error messages. Nil if the text comes
    ///   from the program.
    package convenience init(_ text: String, from variable: String?) {
        let label = "the token" + (variable.map { " (\($0))" } ?? "")
        self.init(
            .text(
                TokenText.parse(Array(text.utf8)).mapError { fault in
                    TokenError(kind: fault.kind, message: "cannot send \(label): \(fault.reason)")
                }))
    }

    /// Creates a token that is in a regular file.
    ///
    /// The client reads the file for the first request, and again after the daemon refuses the token, so that a program
    /// gets a new token without a restart. If the file cannot be read or contains no valid token, a request fails with
    /// ``SettingsError/unusableToken(_:outcome:)``, and the next request reads the file again. If the file system does
    /// not answer, only the requests with this token wait, until their deadlines.
    ///
    /// - Parameter path: the path of the file, which contains only the token.
    public convenience init(file path: String) {
        self.init(.file(AccessTokenFile(path, from: nil)))
    }

    /// Creates a token that is in a file whose path is the value of an environment variable.
    package convenience init(file path: String, from variable: String) {
        self.init(.file(AccessTokenFile(path, from: variable)))
    }

    /// Creates a token that is in a regular file or a pipe, or in standard input if the path is `-`.
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

    private static let shared = Mutex<AccessToken?>(fromEnvironment)

    private static var fromEnvironment: AccessToken? {
        if let path = EnvironmentVariables.path(in: fileVariable) {
            return AccessToken(file: path, from: fileVariable)
        }
        return EnvironmentVariables.nonEmptyValue(of: textVariable).map { AccessToken($0, from: textVariable) }
    }

    /// The token of all clients of the process that were created without a token. Nil if these clients send no token.
    ///
    /// Until the program sets this property, the token comes from the environment: from the file that
    /// `SETTINGS_TOKEN_FILE` names, otherwise from the text of `SETTINGS_TOKEN`.
    public static var standard: AccessToken? {
        get { shared.withLock { $0 } }
        set { shared.withLock { $0 = newValue } }
    }

    /// Reads the file of the token, unless its token is known from an earlier read. Blocks the calling thread, at most
    /// until the deadline. Throws if the token is not valid or cannot be read in time.
    package func load(by deadline: ContinuousClock.Instant) throws(TokenError) {
        switch source {
        case .text(let token): _ = try token.get()
        case .file(let file): _ = try file.content(by: deadline).get()
        }
    }
}

// Neither a description nor a dump may contain the text of the token.
extension AccessToken: CustomStringConvertible, CustomReflectable {
    /// The word `token`, and the path of the file if the token is in a file.
    public var description: String {
        if case .file(let file) = source { "token of \(file.path)" } else { "token" }
    }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
