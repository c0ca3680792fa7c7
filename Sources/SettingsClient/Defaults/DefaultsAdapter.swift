internal import SettingsAPI
public import SettingsKeys

/// Reads and writes the settings of one suite with typed keys.
///
///     Defaults[\.launchCount] += 1            Defaults.launchCount += 1
///     Defaults[\.libraries].append("x")       Defaults[\.username] = nil
///     Defaults[key: DefaultsKey<String?>("color")] = "red"      // a key that is not a member of the key store
///
/// Getters read the replica, a copy of the suite in the memory of the program. The adapter loads the replica at the
/// first use and follows all later changes. A setter changes the replica, writes the outbox file and returns, and the
/// adapter sends the write in the background. With ``WriteMode/confirmed``, a setter waits until the daemon has
/// confirmed the write. If the daemon refuses the write of a setter, the adapter rolls the write back. A setter cannot
/// throw, so the adapter reports the refusal in ``issues`` and in the log.
///
/// The daemon refuses a change in place, such as `+= 1`, if another program has changed the value since the read,
/// unless the key has a merge rule. The adapter sends nothing if the change throws an error or leaves the value as it
/// is.
///
/// While the daemon does not answer, writes wait in the outbox file. The adapter sends them in order when the daemon
/// answers again. If the program ends before the daemon answers, the next program with the same suite and server sends
/// the writes. The async methods that write wait until the daemon has confirmed the write. They throw
/// ``DefaultsError/kept(_:)`` if the write has to wait longer than the timeout.
///
/// A few members of the adapter, such as `value` and `update`, hide keys of the same name. `Defaults[\.name]` always
/// means the key. ``publishSchema(additionalProperties:onConflict:keys:)`` reports hidden keys as an issue.
@dynamicMemberLookup
public final class DefaultsAdapter<KeyStore: Sendable>: KeyedAccess {
    // Members that must hide no key are in extensions with the constraint `KeyStore: DefaultsKeyStore`, which every
    // adapter satisfies. The compiler does not prefer a member with a constraint to a key of the same name. It chooses
    // between the member and the key by the type that the expression needs.
    let core: AdapterCore

    /// The defaults of the parameters are for tests: with `confirmed`, the daemon has the value when a setter returns.
    init(
        keyStore: KeyStore, session: SuiteSession, arguments: [String] = [], writes: WriteMode = .confirmed,
        log: DefaultsLog? = nil
    ) where KeyStore: DefaultsKeyStore {
        if let problem = nestedStoreProblem(in: keyStore) { assertionFailure(problem) }
        core = AdapterCore(keyStore: keyStore, session: session, arguments: arguments, writes: writes, log: log)
    }

    /// Returns the scope that contains all keys of the adapter's store.
    public static func scope(of access: DefaultsAdapter) -> DefaultsScope<KeyStore> {
        // `instance` is nil, because this scope contains the adapter's own store and not a nested store.
        DefaultsScope(core: access.core, instance: nil)
    }

    /// Reads the value of a key.
    public static func read<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>, in access: DefaultsAdapter) -> Value {
        guard let reading = access.core.keys.reading(path, in: nil) else { return scope(of: access).readAndCache(path) }
        return reading.value(as: Value.self)
    }
}

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// A new stream of the issues that the adapter reports from now on: errors that no call throws, such as the errors
    /// of getters and setters.
    public var issues: AsyncStream<DefaultsIssue> {
        core.issues.issues()
    }

    /// Removes all stored values of the suite. Like a setter, the method waits for the daemon only with
    /// ``WriteMode/confirmed``, and reports an error as an issue.
    public func removeAll() {
        core.runSetter(for: nil) { () throws(DefaultsError) in
            try core.submit(PendingChange(action: .removeAll, requestKey: .unique()))
        }
    }

    /// Reports to the daemon that the program could not apply a state of the suite, for example because the values do
    /// not fit together, or because a port is in use.
    ///
    ///     let observation = Defaults.observe(\.port) { update in
    ///         do { try server.restart(port: update.newValue) } catch { Defaults.reportFailure("\(error)") }
    ///     }
    ///
    /// The report is about the state whose observers are running. If no observers are running, the report is about the
    /// newest state whose observers have returned. The failure ends when the program has applied a later change of the
    /// suite. The method returns at once, and the adapter sends the report in the background. Before the suite is
    /// loaded, and for settings in memory (`SETTINGS_URL=memory:`, or the module SettingsClientTesting), the method has
    /// no effect.
    ///
    /// - Parameter reason: the reason that the daemon shows to operators. The adapter removes the bytes after the first
    ///   1,024.
    public func reportFailure(_ reason: String) {
        core.session.reportFailure(reason)
    }

    /// Registers values that this adapter returns for keys without a stored value. They override the defaults of the
    /// schema and of the keys.
    ///
    /// The adapter does not store the values, so other programs do not see them. A later registration of a key replaces
    /// the earlier value.
    public func register(defaults: [String: JSONValue]) {
        core.register(defaults)
    }
}

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// Creates an adapter for a suite whose name is a literal.
    ///
    ///     let Defaults = DefaultsAdapter(suite: "com.my.app", keyStore: DefaultsKeys())
    ///
    /// A literal that is not a valid name is a mistake of the programmer, so the process ends with a message. Check a
    /// name that is computed at run time with `try SuiteName(_:)`.
    ///
    /// The adapter sends no request before its first use. While the daemon does not answer, writes wait in the outbox
    /// file, the program reads its own writes, and getters return the last known values. If the daemon has not answered
    /// since the start of the program, getters return the values in the cache file. Without a cache file they return
    /// defaults, and the adapter reports an issue.
    ///
    /// - Parameters:
    ///   - suite: the name of the suite: 1 to 128 of the characters `A-Z a-z 0-9 . _ -`. The first character must not
    ///     be a dot.
    ///   - keyStore: the object that defines the keys.
    ///   - server: the address of the daemon. By default the value of `SETTINGS_URL`, or `http://127.0.0.1:7070`.
    ///   - token: the token for a daemon with access control. By default the contents of the file that
    ///     `SETTINGS_TOKEN_FILE` names, or the value of `SETTINGS_TOKEN`. Writes that earlier runs left in the outbox
    ///     are sent with this token.
    ///   - timeout: the maximum duration of a request, and the maximum time for which a getter or setter waits for the
    ///     daemon.
    ///   - outbox: the location of the outbox file. With `.none`, waiting writes are in memory only and are lost when
    ///     the program ends.
    ///   - cache: the location of the cache file, which contains the last known values for a start without a daemon.
    ///     Each program that can read the user's files can read the values in the cache file, including secret values.
    ///   - writes: determines whether a setter waits for the daemon.
    ///   - arguments: the command line arguments without the program's name. The values of keys in the arguments
    ///     override stored values. By default the arguments of this process.
    ///   - clientName: the name under which the process reports the states that it has applied. No other process may
    ///     use the name. By default the value of `SETTINGS_CLIENT`, or `HOST:PROGRAM:PID`. The adapter replaces control
    ///     characters and removes the bytes after the first 128. With an empty name, the adapter does not report.
    ///   - log: the log of the issues. By default ``DefaultsLog/default``.
    ///   - file: the source file that the message about an invalid name refers to.
    ///   - line: the line that the message about an invalid name refers to.
    public convenience init(
        suite: StaticString, keyStore: KeyStore, server: ServerAddress? = nil, token: DefaultsToken? = nil,
        timeout: Duration = .seconds(2), outbox: FileLocation = .usual, cache: FileLocation = .none,
        writes: WriteMode = .background, arguments: [String]? = nil, clientName: String? = nil,
        log: DefaultsLog? = nil, file: StaticString = #fileID,
        line: UInt = #line
    ) {
        let name: SuiteName
        do {
            name = try SuiteName(suite.description)
        } catch {
            fatalError("cannot use \"\(suite)\" as the name of a suite: \(error)", file: file, line: line)
        }
        self.init(
            suite: name, keyStore: keyStore, server: server, token: token, timeout: timeout, outbox: outbox,
            cache: cache, writes: writes, arguments: arguments, clientName: clientName, log: log)
    }

    /// Creates an adapter for a suite.
    ///
    /// - Parameters:
    ///   - suite: the suite.
    ///   - keyStore: the object that defines the keys.
    ///   - server: the address of the daemon. By default the value of `SETTINGS_URL`, or `http://127.0.0.1:7070`.
    ///   - token: the token for a daemon with access control. By default the contents of the file that
    ///     `SETTINGS_TOKEN_FILE` names, or the value of `SETTINGS_TOKEN`. Writes that earlier runs left in the outbox
    ///     are sent with this token.
    ///   - timeout: the maximum duration of a request, and the maximum time for which a getter or setter waits for the
    ///     daemon.
    ///   - outbox: the location of the outbox file. With `.none`, waiting writes are in memory only and are lost when
    ///     the program ends.
    ///   - cache: the location of the cache file, which contains the last known values for a start without a daemon.
    ///   - writes: determines whether a setter waits for the daemon.
    ///   - arguments: the command line arguments without the program's name. By default the arguments of this process.
    ///   - clientName: the name under which the process reports the states that it has applied. By default the value of
    ///     `SETTINGS_CLIENT`, or `HOST:PROGRAM:PID`.
    ///   - log: the log of the issues. By default ``DefaultsLog/default``.
    public convenience init(
        suite: SuiteName, keyStore: KeyStore, server: ServerAddress? = nil, token: DefaultsToken? = nil,
        timeout: Duration = .seconds(2), outbox: FileLocation = .usual, cache: FileLocation = .none,
        writes: WriteMode = .background, arguments: [String]? = nil, clientName: String? = nil,
        log: DefaultsLog? = nil
    ) {
        self.init(
            keyStore: keyStore,
            session: ProgramEnvironment.current.session(
                suite: suite, server: server, token: token, timeout: timeout, outbox: outbox, cache: cache,
                clientName: clientName),
            arguments: arguments ?? Self.processArguments, writes: writes, log: log)
    }

    /// Not available. The program has to check a name that it computes at run time.
    @available(*, unavailable, message: "check a name that is computed at run time: suite: try SuiteName(name)")
    @_disfavoredOverload
    public convenience init(
        suite: String, keyStore: KeyStore, server: ServerAddress? = nil, token: DefaultsToken? = nil,
        timeout: Duration = .seconds(2), outbox: FileLocation = .usual, cache: FileLocation = .none,
        writes: WriteMode = .background, arguments: [String]? = nil, clientName: String? = nil,
        log: DefaultsLog? = nil
    ) {
        fatalError("unavailable")  // Never runs: the compiler refuses every use.
    }

    /// The command line arguments of the process without the program's name.
    static var processArguments: [String] {
        Array(CommandLine.arguments.dropFirst())
    }
}

/// Determines whether setters wait for the daemon. Async methods always wait. With both modes, the adapter rolls a
/// refused write back and reports an issue.
public enum WriteMode: Hashable, Sendable {
    /// The setter changes the replica, writes the outbox file and returns. The adapter sends the write in the
    /// background.
    case background
    /// The setter blocks the calling thread until the daemon has answered the write, at most for the timeout of the
    /// adapter. After the timeout, the write waits as in the mode ``background``.
    case confirmed
}
