internal import Platform
internal import SettingsAPI
public import SettingsKeys
internal import SettingsModel

// Upper case, because the name replaces the type `Defaults` of similar libraries: `Defaults.launchCount`.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The adapter for the settings of this program. Extend `DefaultsKeys` with the keys of the program.
///
///     extension DefaultsKeys {
///         var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
///     }
///     Defaults.launchCount += 1
///
/// The environment variable `SETTINGS_URL` contains the address of the daemon. Without it, the address is
/// `http://127.0.0.1:7070`. With `SETTINGS_URL=memory:` the settings are in memory until the program ends, for tests
/// and previews. The variable `SETTINGS_SUITE` contains the name of the suite. Without it, the suite has the name of
/// the program, in which a hyphen replaces each character that is not allowed in the name of a suite. If the value of
/// `SETTINGS_URL` or `SETTINGS_SUITE` is not valid, reads return defaults and writes fail. The adapter then reports
/// issues that describe the mistake. The token is the text in the file that `SETTINGS_TOKEN_FILE` names, or else the
/// text of `SETTINGS_TOKEN`. The variable `SETTINGS_CLIENT` contains the name under which the process reports the
/// states that it has applied. Without it, the name is `HOST:PROGRAM:PID`. Writes wait in an outbox file in the
/// standard directory of the user, ``FileLocation/usual``.
///
/// A program can declare its own global variable `Defaults`. The files of the program then use this variable:
///
///     let Defaults = DefaultsAdapter(suite: "com.my.app", keyStore: DefaultsKeys())
///
/// Do not declare the variable in `main.swift`: other files could use a variable of `main.swift` before it is
/// initialized. If another module declares the variable, the name `Defaults` is ambiguous in the program until the
/// program imports the variable by name: `import let Kit.Defaults`.
public let Defaults = DefaultsAdapter<DefaultsKeys>(
    keyStore: DefaultsKeys(),
    session: ProgramEnvironment.current.session(suite: nil, server: nil, timeout: .seconds(2), outbox: .usual),
    arguments: DefaultsAdapter<DefaultsKeys>.processArguments, writes: .background)

/// The environment variables and the name of the program. They determine the daemon, the suite and the client name of
/// an adapter to which the program does not pass them.
struct ProgramEnvironment: Sendable {
    static let suiteVariable = "SETTINGS_SUITE"
    static let clientVariable = "SETTINGS_CLIENT"

    /// The value of `SETTINGS_URL` for settings in memory, without a daemon.
    static let memoryServer = "memory:"

    /// The value of `SETTINGS_URL`, if it is set.
    var server: String?
    /// The value of `SETTINGS_SUITE`, if it is set.
    var suite: String?
    /// The value of `SETTINGS_CLIENT`, if it is set.
    var client: String?
    /// The path of the program, or its name.
    var program: String

    static var current: ProgramEnvironment {
        ProgramEnvironment(
            server: EnvironmentVariables.value(of: ServerAddress.variable),
            suite: EnvironmentVariables.value(of: suiteVariable),
            client: EnvironmentVariables.value(of: clientVariable), program: CommandLine.arguments.first ?? "")
    }

    /// Returns a session for the given suite and server. If the caller passes nil, the environment names the suite or
    /// the server.
    ///
    /// If the value of a variable is not valid, every request of the session fails. A default in place of the invalid
    /// value could change the wrong suite.
    func session(
        suite requestedSuite: SuiteName?, server address: ServerAddress?, token: DefaultsToken? = nil,
        timeout: Duration,
        outbox: FileLocation = .none, cache: FileLocation = .none, clientName: String? = nil
    ) -> SuiteSession {
        let defaultSuite = requestedSuite ?? suiteNamedAfterProgram
        do {
            let suite = try requestedSuite ?? suiteFromEnvironment() ?? defaultSuite
            if address == nil, server == Self.memoryServer {
                return SuiteSession(InMemoryBackend(suite: suite), options: .init(timeout: timeout))
            }
            let address = try address ?? ServerAddress.from(variable: server)
            let server = SharedServer.at(address, token: token, client: self.clientName(clientName))
            let backend = RemoteBackend(suite: suite, server: server, timeout: timeout)
            return SuiteSession(backend, outbox: outbox, cache: cache, server: address, timeout: timeout)
        } catch let error as ServerAddressError {
            return SuiteSession(NoBackend(suite: defaultSuite, reason: "\(ServerAddress.variable): \(error)"))
        } catch {
            return SuiteSession(NoBackend(suite: defaultSuite, reason: "\(Self.suiteVariable): \(error)"))
        }
    }

    /// Returns nil if the variable is not set or is empty.
    private func suiteFromEnvironment() throws(NameError) -> SuiteName? {
        guard let suite, !suite.isEmpty else { return nil }
        return try SuiteName(suite)
    }

    /// Returns the requested name, or else the name in the environment, or else `HOST:PROGRAM:PID`. Returns nil if the
    /// requested name is empty, which means that the process sends no reports.
    func clientName(_ requested: String?) -> ClientName? {
        if let requested { return ClientName(anyText: requested) }
        if let client, let name = ClientName(anyText: client) { return name }
        // The process identifier distinguishes processes of one program, so it stays if the name has to be shortened.
        let processSuffix = ":\(CurrentProcess.identifier)"
        let hostAndProgram = "\(CurrentProcess.hostName ?? "localhost"):\(Substring(programName))"
        return ClientName(
            anyText: hostAndProgram.prefix(maximumBytes: ClientName.maximumLength - processSuffix.utf8.count)
                + processSuffix)
    }

    /// The name of the program without its directory.
    private var programName: Substring.UnicodeScalarView {
        program.unicodeScalars.split(separator: "/").last ?? "".unicodeScalars[...]
    }

    /// The name of the program, without dots at its beginning, cut to the maximum length of the name of a suite. A
    /// hyphen replaces each character that is not allowed in the name of a suite. If nothing remains, `program`.
    private var suiteNamedAfterProgram: SuiteName {
        var bytes: [UInt8] = []
        for scalar in programName {
            bytes.append(Self.isAllowedInSuiteName(scalar) ? UInt8(scalar.value) : UInt8(ascii: "-"))
        }
        let allowed = bytes.drop { $0 == UInt8(ascii: ".") }.prefix(SuiteName.maximumLength)
        if let suite = try? SuiteName(String(decoding: allowed, as: UTF8.self)) { return suite }
        guard let suite = try? SuiteName("program") else { preconditionFailure("\"program\" is a valid suite name") }
        return suite
    }

    private static func isAllowedInSuiteName(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-": true
        default: false
        }
    }
}
