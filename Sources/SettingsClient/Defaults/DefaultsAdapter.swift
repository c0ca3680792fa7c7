internal import SettingsAPI
public import SettingsKeys

/// The settings of a suite, by their keys.
///
///     Defaults[\.launchCount] += 1            Defaults.launchCount += 1            Defaults[key: looseKey] = "red"
///     Defaults[\.libraries].append("x")       Defaults[\.username] = nil
///
/// Reads come from a replica of the suite. The adapter loads the replica at the first use and follows all later changes. A
/// setter changes the replica, writes the outbox file and returns, and the adapter sends the write in the background. With
/// ``WriteMode/confirmed``, a setter waits until the daemon has confirmed the write. A setter cannot throw, so the adapter rolls
/// a refused write back and reports it in ``issues`` and the log. A change in place applies only to the value that it was
/// computed from, unless the key has a merge rule. A change in place that throws or changes nothing sends nothing.
///
/// While the server is away, writes wait in the outbox file. The adapter sends them in order when the server is back, or a
/// later run of the program sends them. The async forms wait until the daemon has confirmed the write, and throw
/// ``DefaultsError/kept(_:)`` if the write has to wait.
///
/// A few members of the adapter hide keys of the same name, as `value` and `update`; `Defaults[\.name]` always means
/// the key. Keys that are hidden so are reported when a schema is made of them.
@dynamicMemberLookup
public final class DefaultsAdapter<KeyStore: Sendable>: KeyedAccess {
    // Members that hide no key stand in extensions that ask for a `DefaultsKeyStore`, which the store of every adapter is.
    // Beside a member of such an extension the compiler considers the dynamic one, too, and takes what fits.
    let core: AdapterCore

    init(
        keyStore: KeyStore, session: SuiteSession, arguments: [String] = [], writes: WriteMode = .confirmed,
        log: DefaultsLog? = nil
    ) where KeyStore: DefaultsKeyStore {
        if let problem = nestedStoreProblem(in: keyStore) { assertionFailure(problem) }
        core = AdapterCore(keyStore: keyStore, session: session, arguments: arguments, writes: writes, log: log)
    }

    /// The scope of all keys of the adapter's store.
    public static func scope(of access: DefaultsAdapter) -> DefaultsScope<KeyStore> {
        DefaultsScope(core: access.core, instance: nil)
    }

    /// Reads the value of a key.
    public static func read<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>, in access: DefaultsAdapter) -> Value {
        guard let reading = access.core.keys.reading(path, in: nil) else { return scope(of: access).readAndKeep(path) }
        return reading.value(as: Value.self)
    }
}

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// What went wrong in getters and setters, from here on.
    public var issues: AsyncStream<DefaultsIssue> {
        core.issues.issues()
    }

    /// Removes everything that is stored in this suite.
    public func removeAll() {
        core.attempt(nil) { () throws(DefaultsError) in
            try core.submit(PendingChange(action: .reset, requestKey: .unique()))
        }
    }

    /// Gives values to read where nothing is stored. They are never stored, nor visible to other programs; those registered
    /// later win.
    public func register(defaults: [String: JSONValue]) {
        core.register(defaults)
    }
}

/// Settings in a daemon.
extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// The settings of a suite, by its name as it stands in the source.
    ///
    ///     let Defaults = DefaultsAdapter(suite: "com.my.app", keyStore: DefaultsKeys())
    ///
    /// A name that no suite can have is a defect of the program, which ends here with a message. A name that is made at run
    /// time goes through `try SuiteName(_:)`.
    ///
    /// Nothing is sent before the first access. While the daemon is away, writes wait on disk, also beyond the end of the
    /// program, which sees them at once. Getters give the last known values if there is a cache; without one they give
    /// defaults, with an issue.
    ///
    /// - Parameters:
    ///   - suite: 1 to 128 of `A-Z a-z 0-9 . _ -`, not beginning with a dot.
    ///   - keyStore: where the keys are defined.
    ///   - server: where the daemon is; by default what `SETTINGS_URL` says, else `http://127.0.0.1:7070`.
    ///   - token: the token for a daemon with access control. By default the file that `SETTINGS_TOKEN_FILE` names, or the
    ///     text of `SETTINGS_TOKEN`. The adapter also sends the writes that earlier runs have left with this token.
    ///   - timeout: how long a request to the daemon may take; the requests of one getter or setter share it.
    ///   - outbox: where writes wait that could not be sent; with `.none` they are rolled back, with an issue.
    ///   - cache: where the known values of the suite are saved, for a start without a daemon. Programs that can read the
    ///     user's files can read it, secrets included.
    ///   - writes: whether a setter waits for the daemon.
    ///   - arguments: the command line without the program's name, for settings that lie over what is stored; by default
    ///     this program's own.
    ///   - log: the log of the issues; by default ``DefaultsLog/default``.
    ///   - file: the place in the source that a message about the name gives.
    ///   - line: the line there.
    public convenience init(
        suite: StaticString, keyStore: KeyStore, server: ServerAddress? = nil, token: DefaultsToken? = nil,
        timeout: Duration = .seconds(2), outbox: FileLocation = .usual, cache: FileLocation = .none,
        writes: WriteMode = .background, arguments: [String]? = nil, log: DefaultsLog? = nil,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        let name: SuiteName
        do {
            name = try SuiteName(suite.description)
        } catch {
            // The name stands in the source: a mistake of the program, seen when it is first started.
            fatalError("\"\(suite)\" is no suite: \(error)", file: file, line: line)
        }
        self.init(
            suite: name, keyStore: keyStore, server: server, token: token, timeout: timeout, outbox: outbox,
            cache: cache, writes: writes, arguments: arguments, log: log)
    }

    /// The settings of a suite.
    ///
    /// - Parameters:
    ///   - suite: the suite.
    ///   - keyStore: where the keys are defined.
    ///   - server: where the daemon is; by default what `SETTINGS_URL` says, else `http://127.0.0.1:7070`.
    ///   - token: the token for a daemon with access control. By default the file that `SETTINGS_TOKEN_FILE` names, or the
    ///     text of `SETTINGS_TOKEN`. The adapter also sends the writes that earlier runs have left with this token.
    ///   - timeout: how long a request to the daemon may take; the requests of one getter or setter share it.
    ///   - outbox: where writes wait that could not be sent; with `.none` they are rolled back, with an issue.
    ///   - cache: where the known values of the suite are saved, for a start without a daemon.
    ///   - writes: whether a setter waits for the daemon.
    ///   - arguments: the command line without the program's name; by default this program's own.
    ///   - log: the log of the issues; by default ``DefaultsLog/default``.
    public convenience init(
        suite: SuiteName, keyStore: KeyStore, server: ServerAddress? = nil, token: DefaultsToken? = nil,
        timeout: Duration = .seconds(2), outbox: FileLocation = .usual, cache: FileLocation = .none,
        writes: WriteMode = .background, arguments: [String]? = nil, log: DefaultsLog? = nil
    ) {
        self.init(
            keyStore: keyStore,
            session: ProgramEnvironment.current.session(
                suite: suite, server: server, token: token, timeout: timeout, outbox: outbox, cache: cache),
            arguments: arguments ?? Self.ownArguments, writes: writes, log: log)
    }

    /// A name that is made at run time may be none of a suite: that is thrown where it is read.
    @available(*, unavailable, message: "a name that is made at run time is checked first: suite: try SuiteName(name)")
    @_disfavoredOverload
    public convenience init(
        suite: String, keyStore: KeyStore, server: ServerAddress? = nil, token: DefaultsToken? = nil,
        timeout: Duration = .seconds(2), outbox: FileLocation = .usual, cache: FileLocation = .none,
        writes: WriteMode = .background, arguments: [String]? = nil, log: DefaultsLog? = nil
    ) {
        // Nothing that compiles can call this.
        fatalError("unavailable")
    }

    /// The command line without the program's name.
    static var ownArguments: [String] {
        Array(CommandLine.arguments.dropFirst())
    }
}

/// The mode of setters: with or without a wait for the daemon. Async forms always wait.
public enum WriteMode: Hashable, Sendable {
    /// The setter updates the replica, writes the outbox file and returns. The write is sent in the background. A refusal rolls
    /// the value back and is an issue.
    case background
    /// The setter blocks the calling thread until the daemon has confirmed the write, at most for the timeout of the adapter.
    case confirmed
}
