internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsCluster
internal import SettingsModel
internal import SettingsStorage
internal import SettingsWeb

/// The program `settingsd`: runs the command of the command line, and ends the process with an exit code.
package enum Program {
    /// Runs the command. The daemon runs until a signal stops it.
    package static func run() -> Never {
        // By default, HUP ends the process. The kernel keeps a blocked HUP pending until the daemon handles it.
        ProcessSignal.block([.hangUp])
        // If PIPE is ignored, a write to a closed connection or log returns an error instead of ending the process.
        // USR1 and USR2 have no function here, and would also end the process.
        for signal in [ProcessSignal.brokenPipe, .user1, .user2] { signal.ignore() }
        // Replace the handler of the Swift runtime for QUIT: it prints registers and memory, which may contain secrets.
        ProcessSignal.quit.exitWithoutHandlersOnArrival()
        do {
            let words = ProcessArguments.all
            guard !words.isEmpty else {
                throw ProgramError(
                    .usage, "cannot read the command line: the name of the program is missing",
                    remedy: "start settingsd from a shell or a service manager")
            }
            let arguments = try Arguments(Array(words.dropFirst()), environment: EnvironmentVariables.all)
            if arguments.command != .serve { ProcessSignal.unblock([.hangUp]) }
            switch arguments.command {
            case .help: printLine(Arguments.help)
            case .version: printLine("\(Service.name) \(Service.version)")
            case .printConfiguration(let isJSON):
                var configuration = try arguments.configuration()
                configuration.setDataDirectory(try location(of: configuration))
                printLine(isJSON ? configuration.sourcedDocument.text(style: .pretty) : configuration.listing)
            case .token(let command): try TokenTool(command, try arguments.configuration()).run()
            case .cluster(let command): try runClusterCommand(command, try arguments.configuration())
            case .checkConfiguration:
                let configuration = try arguments.configuration()
                _ = try location(of: configuration)
                _ = try Daemon.prepare(configuration)
                printLine("the configuration is valid")
                if let warning = configuration.auditFile.flatMap({ AuditLog.warning(aboutFileAt: $0) }) {
                    printError("\(Service.name): \(warning)")
                }
            case .check:
                exit(with: try check(try location(of: try arguments.configuration()).path))
            case .repair(let isConfirmed):
                let path = try location(of: try arguments.configuration()).path
                exit(with: try repair(path, isConfirmed: isConfirmed))
            case .restore(let file):
                let configuration = try arguments.configuration()
                try restore(file, try location(of: configuration).path, configuration)
            case .serve:
                try serve(try arguments.configuration()) { () throws(ConfigurationError) in
                    try arguments.configuration()
                }
            }
            exit(with: .success)
        } catch {
            let error = ProgramError(error)
            printError(error.description)
            exit(with: error.code)
        }
    }

    private static func serve(
        _ configuration: Configuration, reread: @escaping @Sendable () throws(ConfigurationError) -> Configuration
    ) throws -> Never {
        // Take the sockets first: if a socket is missing, a file that was opened earlier could have its descriptor.
        let sockets = try ActivatedSockets.listeners(from: EnvironmentVariables.all, process: CurrentProcess.identifier)
        let log = Log.standardError(level: configuration.logLevel, clock: { Timestamp.now() })
        let lifecycle = Lifecycle(stopSeconds: configuration.stopSeconds, log: log)
        let location = try location(of: configuration)
        log.info("\(Service.name) \(Service.version), process \(CurrentProcess.identifier)")
        if configuration.data == nil { log.info("the data directory is \(location.path), \(location.reason)") }
        let manager = ServiceManager(
            environment: EnvironmentVariables.all, process: CurrentProcess.identifier, log: log)
        lifecycle.recordStart(
            of: try Daemon(
                configuration, directory: location.path, log: log, sockets: sockets, manager: manager, reread: reread))
        dispatchMain()
    }

    /// Checks a data directory and prints the result. Changes nothing.
    private static func check(_ path: String) throws(ProgramError) -> ExitCode {
        do {
            // The directory of a daemon with etcd contains a copy of the data in etcd instead of journals.
            if let copyCheck = try LogCache.check(DataDirectory(path)) {
                for line in copyCheck.lines { printLine(line) }
                return copyCheck.isSound ? .success : .damagedData
            }
            let check = try DirectoryCheck(DataDirectory(path))
            for line in check.lines { printLine(line) }
            // `torn`: the newest journal ends with an incomplete line, as after a crash.
            return switch check.verdict {
            case .sound: .success
            case .torn: .tornTail
            case .damaged: .damagedData
            }
        } catch {
            throw ProgramError(StartError.recovery(error))
        }
    }

    /// Prints what a repair would remove from a damaged data directory. If `isConfirmed` is true, repairs it.
    private static func repair(_ path: String, isConfirmed: Bool) throws(ProgramError) -> ExitCode {
        let isCopy: Bool
        do {
            isCopy = try LogCache.exists(in: DataDirectory(path))
        } catch {
            throw ProgramError(StartError.recovery(error))
        }
        guard !isCopy else {
            throw ProgramError(
                .usage, "cannot repair \(path): it is a copy of a log in etcd",
                remedy: "start a daemon with this directory, which reads the missing data from etcd")
        }
        do {
            let directory = DataDirectory(path)
            if isConfirmed { try directory.switchUserToOwner() }
            let repair = try DirectoryRepair(directory, apply: isConfirmed, newEpoch: Epoch.random)
            for line in repair.lines { printLine(line) }
            switch repair.outcome {
            case .nothingToDo: break
            case .wouldRepair: printLine("nothing was changed; 'settingsd repair \(path) --yes' performs the repair")
            case .repaired: printLine("the repair is done")
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
                .usage, "the command restore needs the file of a backup",
                remedy: "write settingsd restore FILE --data DIR")
        }
        do {
            let directory = DataDirectory(path)
            let restore = try DirectoryRestore(
                of: file, into: directory, limits: configuration.history, newEpoch: Epoch.random
            ) { () throws(RecoveryError) in try directory.switchUserToOwner() }
            for line in restore.lines { printLine(line) }
        } catch {
            throw ProgramError(StartError.recovery(error))
        }
    }

    /// Returns the data directory of a configuration, or the default directory.
    static func location(of configuration: Configuration) throws(ConfigurationError) -> DataLocation {
        try DataLocation(
            configured: configuration.data, isRoot: ProcessUser.isRoot,
            environment: EnvironmentVariables.nonEmptyValue,
            home: { SystemUsers.homeDirectory(of: ProcessUser.identifier) })
    }

    /// Ends the process without the exit handlers of the C library, because other threads may still run.
    static func exit(with code: ExitCode) -> Never {
        LineWriter.standardError.flush()
        CurrentProcess.exitWithoutHandlers(code: code.rawValue)
    }

    static func printError(_ text: String) {
        LineWriter.standardError.append(Array((text + "\n").utf8))
    }

    /// Writes a line to the standard output. Ignores errors, because the reader may have closed its end of a pipe.
    static func printLine(_ text: String) {
        try? OutputDescriptor.standardOutput.write((text + "\n").utf8Span.span)
    }
}
