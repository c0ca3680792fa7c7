public import SettingsModel

/// Settings that a daemon keeps.
extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// The settings of a suite, by its name as it stands in the source.
    ///
    ///     let Defaults = DefaultsAdapter(suite: "com.my.app", keyStore: DefaultsKeys())
    ///
    /// A name that no suite can have is a defect of the program, which ends here with a message that says what is wrong
    /// with it. A name that is made at run time goes through `try SuiteName(_:)`.
    ///
    /// Nothing is sent before the first access. The daemon need not be there then. What setters store waits on disk until
    /// it is, also beyond the end of the program; the program sees it at once. What else getters are asked for is what it
    /// was when it was known last, if there is a cache; without one it is the default, which ``issues`` tells.
    ///
    /// - Parameters:
    ///   - suite: 1 to 128 of `A-Z a-z 0-9 . _ -`, not beginning with a dot.
    ///   - keyStore: where the keys are defined.
    ///   - server: where the daemon is; by default what `SETTINGS_URL` says, else `http://127.0.0.1:7070`.
    ///   - timeout: how long a request to the daemon may take; the requests of one getter or setter share it.
    ///   - outbox: where writes wait that could not be sent; with `.none` they are taken back, and ``issues`` tells that.
    ///   - cache: where what is known of the suite is saved, for a start without a daemon. Whoever can read the files of
    ///     the user can read what is in it, secrets too.
    ///   - arguments: the command line without the program's name, for settings that lie over what is stored; by default
    ///     this program's own.
    ///   - log: what is done with each issue; by default a line on standard error.
    ///   - file: the place in the source that a message about the name gives.
    ///   - line: the line there.
    public convenience init(
        suite: StaticString, keyStore: KeyStore, server: ServerAddress? = nil, timeout: Duration = .seconds(2),
        outbox: KeptFiles = .usual, cache: KeptFiles = .none, arguments: [String]? = nil,
        log: (@Sendable (DefaultsIssue) -> Void)? = nil, file: StaticString = #fileID,
        line: UInt = #line
    ) {
        let name: SuiteName
        do {
            name = try SuiteName(suite.description)
        } catch {
            // The name stands in the source: a mistake of the program, seen when it is first started.
            fatalError("\"\(suite)\" is no suite: \(error)", file: file, line: line)
        }
        self.init(
            suite: name, keyStore: keyStore, server: server, timeout: timeout, outbox: outbox, cache: cache,
            arguments: arguments, log: log)
    }

    /// The settings of a suite.
    ///
    /// - Parameters:
    ///   - suite: the suite.
    ///   - keyStore: where the keys are defined.
    ///   - server: where the daemon is; by default what `SETTINGS_URL` says, else `http://127.0.0.1:7070`.
    ///   - timeout: how long a request to the daemon may take; the requests of one getter or setter share it.
    ///   - outbox: where writes wait that could not be sent; with `.none` they are taken back, and ``issues`` tells that.
    ///   - cache: where what is known of the suite is saved, for a start without a daemon.
    ///   - arguments: the command line without the program's name; by default this program's own.
    ///   - log: what is done with each issue; by default a line on standard error.
    public convenience init(
        suite: SuiteName, keyStore: KeyStore, server: ServerAddress? = nil, timeout: Duration = .seconds(2),
        outbox: KeptFiles = .usual, cache: KeptFiles = .none, arguments: [String]? = nil,
        log: (@Sendable (DefaultsIssue) -> Void)? = nil
    ) {
        self.init(
            keyStore: keyStore,
            session: ProgramEnvironment.current.session(
                suite: suite, server: server, timeout: timeout, outbox: outbox, cache: cache),
            arguments: arguments ?? Self.ownArguments, log: log ?? IssueBoard.standardLog)
    }

    /// A name that is made at run time may be none of a suite: that is thrown where it is read.
    @available(*, unavailable, message: "a name that is made at run time is checked first: suite: try SuiteName(name)")
    @_disfavoredOverload
    public convenience init(
        suite: String, keyStore: KeyStore, server: ServerAddress? = nil, timeout: Duration = .seconds(2),
        outbox: KeptFiles = .usual, cache: KeptFiles = .none, arguments: [String]? = nil,
        log: (@Sendable (DefaultsIssue) -> Void)? = nil
    ) {
        // Nothing that compiles can call this.
        fatalError("unavailable")
    }

    /// What the command line says behind the program's name.
    static var ownArguments: [String] {
        Array(CommandLine.arguments.dropFirst())
    }
}
