internal import Platform
public import SettingsKeys
internal import SettingsModel

// It reads as what it stands for: `Defaults.launchCount`.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The settings of this program, ready-made: extend `DefaultsKeys` with its keys, and use them.
///
///     extension DefaultsKeys {
///         var launchCount: DefaultsKey<Int> { .init("launchCount", defaultValue: 0) }
///     }
///     Defaults.launchCount += 1
///
/// With `SETTINGS_URL=memory:` the settings are in memory and last as long as the program, for tests and previews. Otherwise
/// the server is the one that `SETTINGS_URL` names, else `http://127.0.0.1:7070`; the suite the one that `SETTINGS_SUITE`
/// names, else the program's name with a hyphen for each character that no suite may have in its name. If a variable is
/// wrong, every access is an issue that says so, and reads give defaults.
///
/// A program's own global of this name is used in its place:
///
///     let Defaults = DefaultsAdapter(suite: "com.my.app", keyStore: DefaultsKeys())
///
/// It does not belong in `main.swift`, whose variables other files can use before they are there. One that is in a module
/// besides the program's is meant where that is imported by name: `import let Kit.Defaults`.
public let Defaults = DefaultsAdapter<DefaultsKeys>(
    keyStore: DefaultsKeys(),
    session: ProgramEnvironment.current.session(suite: nil, server: nil, timeout: .seconds(2), outbox: .usual),
    arguments: DefaultsAdapter<DefaultsKeys>.ownArguments, writes: .background)

/// The environment of a program, which says where its settings are.
struct ProgramEnvironment: Sendable {
    /// The variable that names the suite.
    static let suiteVariable = "SETTINGS_SUITE"

    /// The value of `SETTINGS_URL` for settings in memory, without a daemon.
    static let memoryServer = "memory:"

    /// The value of `SETTINGS_URL`, if it is set.
    var server: String?
    /// The value of `SETTINGS_SUITE`, if it is set.
    var suite: String?
    /// The path of the program, or its name.
    var program: String

    /// The environment of this process.
    static var current: ProgramEnvironment {
        ProgramEnvironment(
            server: EnvironmentVariables.value(of: ServerAddress.variable),
            suite: EnvironmentVariables.value(of: suiteVariable), program: CommandLine.arguments.first ?? "")
    }

    /// The session of a suite on the given server, else on that of the environment. If a variable is wrong, nothing can be
    /// read or written: the values of another suite would be worse than none.
    func session(
        suite given: SuiteName?, server address: ServerAddress?, token: DefaultsToken? = nil, timeout: Duration,
        outbox: FileLocation = .none, cache: FileLocation = .none
    ) -> SuiteSession {
        let suite = given ?? suiteOfProgram
        do {
            let named = try given ?? suiteOfEnvironment() ?? suite
            if address == nil, server == Self.memoryServer {
                return SuiteSession(InMemoryBackend(suite: named), options: .init(timeout: timeout))
            }
            let address = try address ?? ServerAddress.from(variable: server)
            let backend = RemoteBackend(suite: named, server: .at(address, token: token), timeout: timeout)
            return SuiteSession(backend, outbox: outbox, cache: cache, of: address, timeout: timeout)
        } catch let error as ServerAddressError {
            return SuiteSession(NoBackend(suite: suite, reason: "\(ServerAddress.variable): \(error)"))
        } catch {
            return SuiteSession(NoBackend(suite: suite, reason: "\(Self.suiteVariable): \(error)"))
        }
    }

    /// An empty variable says nothing.
    private func suiteOfEnvironment() throws(NameError) -> SuiteName? {
        guard let suite, !suite.isEmpty else { return nil }
        return try SuiteName(suite)
    }

    /// The name of the program, with a hyphen for what no suite may have in its name.
    private var suiteOfProgram: SuiteName {
        let name = program.unicodeScalars.split(separator: "/").last ?? "".unicodeScalars[...]
        var bytes: [UInt8] = []
        for scalar in name {
            bytes.append(Self.isOfSuite(scalar) ? UInt8(scalar.value) : UInt8(ascii: "-"))
        }
        let legal = bytes.drop { $0 == UInt8(ascii: ".") }.prefix(SuiteName.maximumLength)
        if let suite = try? SuiteName(String(decoding: legal, as: UTF8.self)) { return suite }
        guard let suite = try? SuiteName("program") else { preconditionFailure("the name is a suite's") }
        return suite
    }

    private static func isOfSuite(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-": true
        default: false
        }
    }
}
