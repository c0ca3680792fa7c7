internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsCluster
internal import SettingsModel
internal import SettingsStorage
internal import SettingsWeb

/// The program `settingsd`, from its command line to its exit code.
package enum Program {
    /// Does what the command line asks for. The daemon runs until a signal ends it.
    package static func run() -> Never {
        // The kernel keeps HUP pending until the daemon handles it: by default it ends the process.
        ProcessSignal.block([.hangUp])
        // A write to a peer or a log that is gone fails; the signal would end the program.
        for signal in [ProcessSignal.brokenPipe, .user1, .user2] { signal.ignore() }
        // By default the Swift runtime prints registers and the memory around them, which may hold secrets.
        ProcessSignal.quit.exitWithoutHandlersOnArrival()
        do {
            let words = ProcessArguments.all
            guard !words.isEmpty else {
                throw ProgramError(
                    .usage, "cannot read the command line: it does not have the name of the program",
                    remedy: "start settingsd from a shell or a service manager")
            }
            let options = try Arguments(Array(words.dropFirst()), environment: EnvironmentVariables.all)
            if options.command != .serve { ProcessSignal.unblock([.hangUp]) }
            switch options.command {
            case .help: say(Arguments.help)
            case .version: say("\(Service.name) \(Service.version)")
            case .printConfiguration(let isJSON):
                var configuration = try options.configuration()
                configuration.settle(try location(of: configuration))
                say(isJSON ? configuration.sourcedDocument.text(style: .pretty) : configuration.listing)
            case .token(let command): try TokenTool(command, try options.configuration()).run()
            case .cluster(let command): try runClusterCommand(command, try options.configuration())
            case .checkConfiguration:
                let configuration = try options.configuration()
                _ = try location(of: configuration)
                _ = try Daemon.prepare(configuration)
                say("the configuration is sound")
                if let warning = configuration.auditFile.flatMap({ AuditLog.warning(aboutFileAt: $0) }) {
                    complain("\(Service.name): \(warning)")
                }
            case .check:
                leave(try check(try location(of: try options.configuration()).path))
            case .repair(let isConfirmed):
                let path = try location(of: try options.configuration()).path
                leave(try repair(path, isConfirmed: isConfirmed))
            case .restore(let file):
                let configuration = try options.configuration()
                try restore(file, try location(of: configuration).path, configuration)
            case .serve:
                try serve(try options.configuration()) { () throws(ConfigurationError) in
                    try options.configuration()
                }
            }
            leave(.success)
        } catch {
            let error = ProgramError(error)
            complain(error.description)
            leave(error.code)
        }
    }

    private static func serve(
        _ configuration: Configuration, reread: @escaping @Sendable () throws(ConfigurationError) -> Configuration
    ) throws -> Never {
        // Before any other file is opened, so that a socket that is missing is not mistaken for one of those.
        let sockets = try ActivatedSockets.take(EnvironmentVariables.all, process: CurrentProcess.identifier)
        let log = Log.standardError(level: configuration.logLevel, clock: { Timestamp.now() })
        let lifecycle = Lifecycle(stopBound: configuration.stopBound, log: log)
        let location = try location(of: configuration)
        log.info("\(Service.name) \(Service.version), process \(CurrentProcess.identifier)")
        if configuration.data == nil { log.info("data directory \(location.path), \(location.reason)") }
        let manager = ServiceManager(
            environment: EnvironmentVariables.all, process: CurrentProcess.identifier, log: log)
        lifecycle.serve(
            try Daemon(
                configuration, directory: location.path, log: log, sockets: sockets, manager: manager, reread: reread))
        dispatchMain()
    }

    /// Says what is found in a data directory, and changes nothing.
    private static func check(_ path: String) throws(ProgramError) -> ExitCode {
        do {
            if let copy = try LogCache.check(DataDirectory(path)) {
                for line in copy.lines { say(line) }
                return copy.isSound ? .success : .damagedData
            }
            let check = try DirectoryCheck(DataDirectory(path))
            for line in check.lines { say(line) }
            return switch check.verdict {
            case .sound: .success
            case .torn: .tornTail
            case .damaged: .damagedData
            }
        } catch {
            throw ProgramError(StartError.recovery(error))
        }
    }

    /// Says what would be cut off a damaged data directory and, if that is confirmed, does it.
    private static func repair(_ path: String, isConfirmed: Bool) throws(ProgramError) -> ExitCode {
        let isCopy: Bool
        do {
            isCopy = try LogCache.exists(in: DataDirectory(path))
        } catch {
            throw ProgramError(StartError.recovery(error))
        }
        guard !isCopy else {
            throw ProgramError(
                .usage, "\(path) is a copy of a log in etcd; nothing was changed",
                remedy: "start a daemon there, which reads from etcd what it lacks")
        }
        do {
            let directory = DataDirectory(path)
            if isConfirmed { try directory.assumeOwner() }
            let repair = try DirectoryRepair(directory, apply: isConfirmed, newEpoch: Epoch.random)
            for line in repair.lines { say(line) }
            switch repair.outcome {
            case .nothingToDo: break
            case .wouldRepair: say("nothing was changed; 'settingsd repair \(path) --yes' does it")
            case .repaired: say("done")
            }
            return .success
        } catch {
            throw ProgramError(StartError.recovery(error))
        }
    }

    /// Fills a data directory from a backup.
    private static func restore(
        _ file: String?, _ path: String, _ configuration: Configuration
    ) throws(ProgramError) {
        guard let file else {
            throw ProgramError(
                .usage, "restore needs the file of a backup", remedy: "write settingsd restore FILE --data DIR")
        }
        do {
            let directory = DataDirectory(path)
            let restore = try DirectoryRestore(
                of: file, into: directory, limits: configuration.history, newEpoch: Epoch.random
            ) { () throws(RecoveryError) in try directory.assumeOwner() }
            for line in restore.lines { say(line) }
        } catch {
            throw ProgramError(StartError.recovery(error))
        }
    }

    static func location(of configuration: Configuration) throws(ConfigurationError) -> DataLocation {
        try DataLocation(
            configured: configuration.data, isRoot: ProcessUser.isRoot,
            environment: EnvironmentVariables.nonEmptyValue,
            home: { SystemUsers.homeDirectory(of: ProcessUser.identifier) })
    }

    /// Ends the process without the exit handlers of the C library, since other threads may be at work.
    static func leave(_ code: ExitCode) -> Never {
        LineWriter.standardError.flush()
        CurrentProcess.exitWithoutHandlers(code: code.rawValue)
    }

    static func complain(_ text: String) {
        LineWriter.standardError.append(Array((text + "\n").utf8))
    }

    /// Writes a line, or as much of it as the reader takes.
    static func say(_ text: String) {
        try? OutputDescriptor.standardOutput.write((text + "\n").utf8Span.span)
    }
}
