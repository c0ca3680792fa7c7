internal import Glibc
internal import SettingsModel

/// What a program is told from outside of where its settings are.
struct ProgramEnvironment: Sendable {
    /// The variable that names the suite.
    static let suiteVariable = "SETTINGS_SUITE"

    /// What `SETTINGS_URL` says, if it is there.
    var server: String?
    /// What `SETTINGS_SUITE` says, if it is there.
    var suite: String?
    /// The path of the program, or its name.
    var program: String

    /// That of this process.
    static var current: ProgramEnvironment {
        ProgramEnvironment(
            server: value(of: ServerAddress.variable), suite: value(of: suiteVariable),
            program: CommandLine.arguments.first ?? "")
    }

    private static func value(of variable: String) -> String? {
        getenv(variable).map { String(cString: $0) }
    }

    /// Where a suite lives: on the server that is given, else where the environment says. What is wrong there is not
    /// guessed at, as the values of another suite would be worse than none: nothing can be read and written then.
    func session(
        suite given: SuiteName?, server address: ServerAddress?, timeout: Duration, outbox: KeptFiles = .none,
        cache: KeptFiles = .none
    ) -> SuiteSession {
        let suite = given ?? suiteOfProgram
        do {
            let named = try given ?? suiteOfEnvironment() ?? suite
            let address = try address ?? ServerAddress.from(variable: server)
            let backend = RemoteBackend(suite: named, server: .at(address), timeout: timeout)
            return SuiteSession(backend, outbox: outbox, cache: cache, of: address, patience: timeout)
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
