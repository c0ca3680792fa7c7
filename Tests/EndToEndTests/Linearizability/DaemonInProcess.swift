import SettingsServer

/// A daemon in the process of the tests.
enum DaemonInProcess {
    struct NoPort: Error {}

    /// A daemon of its own on a directory of its own and on a port that nobody else has, while the body runs.
    static func run<Result>(_ body: (UInt16) async throws -> Result) async throws -> Result {
        let directory = try ScratchDirectory()
        var configuration = Configuration()
        configuration.listen = [.tcp(host: "127.0.0.1", port: 0)]
        let log = Log(level: .error, clock: { Daemon.now() }, write: { _ in })
        let daemon = try Daemon(configuration, directory: directory.path, log: log)
        guard case .tcp(_, let port)? = daemon.addresses.first else { throw NoPort() }
        let result = try await body(port)
        await withCheckedContinuation { continuation in daemon.stop { _ in continuation.resume() } }
        return result
    }
}
