internal import HTTPWire
internal import Platform
internal import Synchronization

/// A token that a client presents to a daemon whose callers need grants.
///
/// It is given to a client in code, or for the whole process by ``standard``, which begins as the file that
/// `SETTINGS_TOKEN_FILE` names. It goes to the daemon alone: no description, error or log has its text.
public final class AccessToken: Sendable {
    /// The environment variable that names a file with the token.
    public static let variable = "SETTINGS_TOKEN_FILE"

    private let path: String?
    private let text: Mutex<String?>

    /// The token itself, as `settingsd token create` prints it.
    ///
    /// - Parameter text: the token. Blanks and line ends around it do not count.
    public init(_ text: String) {
        path = nil
        self.text = Mutex(Self.trimmed(text))
    }

    /// A token in a file. It is read when it is first needed, and again after an answer that does not accept it, so that a
    /// new token takes no restart.
    ///
    /// - Parameter path: the path of the file, which has nothing else in it.
    public init(file path: String) {
        self.path = path
        text = Mutex(nil)
    }

    private static let shared = Mutex<AccessToken?>(
        EnvironmentVariables.nonEmptyValue(of: variable).map { AccessToken(file: $0) })

    /// The token of all clients of the process that were not given one of their own; nil for none.
    public static var standard: AccessToken? {
        get { shared.withLock { $0 } }
        set { shared.withLock { $0 = newValue } }
    }

    /// Adds the token to a request. Without a text that can be sent it adds nothing: the daemon's refusal says what is missing.
    func sign(_ request: inout Request) {
        let token = text.withLock { text in
            if text == nil, let path { text = Self.content(of: path) }
            return text
        }
        guard let token, !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return }
        request.fields.append("Authorization", text: "Bearer \(token)")
    }

    /// Has a file read again for the next request.
    func wasRefused() {
        if path != nil { text.withLock { $0 = nil } }
    }

    private static func content(of path: String) -> String? {
        (try? FileContents.read(path, upTo: 4096)).flatMap { String(validating: $0, as: UTF8.self) }.map(trimmed)
    }

    private static func trimmed(_ text: String) -> String {
        let isBlank = { (letter: Character) in letter.isWhitespace }
        return String(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}

/// No text of the token, whatever prints it.
extension AccessToken: CustomStringConvertible, CustomReflectable {
    /// Where the token is from.
    public var description: String { path.map { "token of \($0)" } ?? "token" }

    /// A mirror that shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
