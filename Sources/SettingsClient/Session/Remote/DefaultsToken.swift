internal import SettingsHTTP

/// The token that an adapter sends to a daemon with access control.
///
/// The adapter sends the text of the token only to the daemon. No description, error or log contains the text.
public struct DefaultsToken: Hashable, Sendable {
    private enum Source: Hashable, Sendable {
        case file(String)
        case value(String)
    }

    private let source: Source

    /// A token in a regular file that contains only the token.
    ///
    /// The adapter reads the file for the first request, and again after the daemon refuses the token. If the file
    /// cannot be read or contains no valid token, reads fail with ``DefaultsError/unusableToken(_:)``, and writes wait
    /// until the file can be read. The next request reads the file again.
    ///
    /// - Parameter path: the path of the file.
    public static func file(_ path: String) -> DefaultsToken { DefaultsToken(source: .file(path)) }

    /// The text of a token, as `settingsd token create` prints it.
    public static func value(_ text: String) -> DefaultsToken { DefaultsToken(source: .value(text)) }

    var accessToken: AccessToken {
        switch source {
        case .file(let path): AccessToken(file: path)
        case .value(let text): AccessToken(text)
        }
    }
}

extension DefaultsToken: CustomStringConvertible, CustomReflectable {
    /// A description with the path of the file, without the text of the token.
    public var description: String { "\(accessToken)" }

    /// A mirror without children, because a dump must not contain the text of the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
