internal import Dispatch
internal import Glibc
internal import Platform
internal import SettingsModel

/// The program `settingsd`, from its command line to its exit code.
package enum Program {
    /// Does what the command line asks for. The daemon runs until a signal ends it.
    ///
    /// - Parameter arguments: the words of the command line, that of the program itself first.
    package static func run(_ arguments: [String]) -> Never {
        // A peer or a reader of the log that went away is an error of a write, not the end of the program.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGUSR1, SIG_IGN)
        signal(SIGUSR2, SIG_IGN)
        // By default the Swift runtime prints registers and the memory around them, which may hold secrets.
        signal(SIGQUIT) { number in _exit(128 + number) }
        do {
            let options = try CommandLineOptions(Array(arguments.dropFirst()))
            switch options.command {
            case .help: say(HelpText.text)
            case .version: say("\(Service.name) \(Service.version)")
            case .printConfiguration:
                var configuration = try options.configuration()
                configuration.data = try location(of: configuration).path
                say(configuration.document.text(style: .pretty))
            case .checkConfiguration:
                _ = try options.configuration()
                say("the configuration is sound")
            case .check:
                leave(try DirectoryCommand.check(try location(of: try options.configuration()).path))
            case .repair(let isConfirmed):
                let path = try location(of: try options.configuration()).path
                leave(try DirectoryCommand.repair(path, isConfirmed: isConfirmed))
            case .serve: try serve(try options.configuration())
            }
            leave(.success)
        } catch {
            let error = ProgramError(error)
            complain(error.description)
            leave(error.code)
        }
    }

    private static func serve(_ configuration: Configuration) throws -> Never {
        let log = Log.standardError(level: configuration.logLevel, clock: { Daemon.now() })
        let lifecycle = Lifecycle(stopBound: configuration.stopBound, log: log)
        let location = try location(of: configuration)
        log.info("\(Service.name) \(Service.version), process \(getpid())")
        if configuration.data == nil { log.info("data directory \(location.path), \(location.reason)") }
        lifecycle.serve(try Daemon(configuration, directory: location.path, log: log))
        dispatchMain()
    }

    private static func location(of configuration: Configuration) throws(ConfigurationError) -> DataLocation {
        try DataLocation(
            configured: configuration.data, isRoot: geteuid() == 0,
            environment: { name in
                guard let value = getenv(name), value.pointee != 0 else { return nil }
                return String(cString: value)
            },
            home: { getpwuid(geteuid())?.pointee.pw_dir.map { String(cString: $0) } })
    }

    /// Leaves without running what the C library would still run: other threads may be at work.
    static func leave(_ code: ExitCode) -> Never {
        _exit(code.rawValue)
    }

    static func say(_ text: String) {
        write(text, to: STDOUT_FILENO)
    }

    private static func complain(_ text: String) {
        write(text, to: STDERR_FILENO)
    }

    /// All of it, or as much as whoever reads wants to have.
    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array((text + "\n").utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
