internal import Foundation
internal import SettingsKeys
internal import Synchronization

/// A destination for the messages of adapters, for example the logger of an app.
///
/// An app sends the messages of all its adapters to its logger with one line:
///
///     DefaultsLog.default = DefaultsLog { level, message, metadata in logger.warning("\(message)") }
///
/// The messages report errors that no call throws: a write that was refused or waits, a getter that returned the
/// default because the suite could not be read, a difference between the keys and the schema, a file that cannot be
/// used. ``DefaultsAdapter/issues`` delivers the same reports as values. A message contains no stored value of a secret
/// key and no token.
public struct DefaultsLog: Sendable {
    /// The severity of a message. The raw values are the names of the levels in common logging libraries.
    public enum Level: String, Sendable {
        /// A write waits for the daemon, the daemon does not answer a read, a check (``DefaultsIssue/Attempt/check``)
        /// found a problem, or a file cannot be used.
        case warning
        /// A write failed, or a value could not be read for another reason.
        case error
    }

    private let handler: @Sendable (DefaultsIssue) -> Void

    /// Creates a log.
    ///
    /// An adapter calls the handler on a dispatch queue, one message after the other, and never holds a lock during the
    /// call. The handler may therefore block and may use the adapter. Several adapters with the same log may call the
    /// handler at the same time. The message is a sentence without a line end.
    /// The keys of the metadata are `suite`, `attempt` (`read`, `write`, or `check` for a check that affects neither
    /// reads nor writes), and, if they apply, `key` and `code` (the code of the daemon's refusal).
    public init(
        _ handler: @escaping @Sendable (_ level: Level, _ message: String, _ metadata: [String: String]) -> Void
    ) {
        self.handler = { handler($0.level, $0.message, $0.metadata) }
    }

    /// Creates a log whose handler gets the issue instead of its message.
    package init(issues handler: @escaping @Sendable (DefaultsIssue) -> Void) {
        self.handler = handler
    }

    /// Writes each message as a line to standard error. Ignores a failure of the write.
    public static let standardError = DefaultsLog(issues: { issue in
        try? FileHandle.standardError.write(contentsOf: Data("\(issue)\n".utf8))
    })

    private static let processLog = Mutex(standardError)

    /// The log of all adapters of the process that were created without a log, and of the global `Defaults`.
    ///
    /// A new value applies to all later messages, also to messages of existing adapters. The first value is
    /// ``standardError``.
    public static var `default`: DefaultsLog {
        get { processLog.withLock { $0 } }
        set {
            // The release of the old handler may run code of the program, so it happens without the lock.
            let old = processLog.withLock { log in
                defer { log = newValue }
                return log
            }
            withExtendedLifetime(old) {}
        }
    }

    func write(_ issue: DefaultsIssue) {
        handler(issue)
    }
}

extension DefaultsIssue {
    var level: DefaultsLog.Level {
        switch (attempt, error) {
        case (.check, _), (_, .kept), (_, .unusableFile), (.read, .unreachable): .warning
        default: .error
        }
    }

    var message: String {
        let name = key.map { $0.isEmpty ? "\"\"" : $0 }
        let subject = name.map { "\($0) of suite \(suite)" } ?? "suite \(suite)"
        return switch (attempt, error) {
        case (.write, .kept(let reason)): "\(subject): \(reason)"
        case (.check, _): "suite \(suite): \(error)"
        case (_, .unusableFile): "\(subject): \(error)"
        case (.read, _): "cannot read \(subject): \(error)"
        case (.write, _): "cannot write \(subject): \(error)"
        }
    }

    var metadata: [String: String] {
        var metadata = ["suite": suite.text, "attempt": "\(attempt)"]
        metadata["key"] = key
        metadata["code"] = error.code?.rawValue
        return metadata
    }
}
