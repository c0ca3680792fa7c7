public import SettingsModel

/// Something that went wrong where nothing could be thrown: in a getter or a setter.
public struct DefaultsIssue: Hashable, Sendable {
    /// What was tried.
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

extension DefaultsIssue: CustomStringConvertible {
    /// One line for a log.
    public var description: String {
        if attempt == .check { return "settings: suite \(suite): \(error)" }
        let what = key.map { "\($0) of suite \(suite)" } ?? "suite \(suite)"
        return "settings: \(what) \(attempt == .read ? "was not read" : "was not written"): \(error)"
    }
}
