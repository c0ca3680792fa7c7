internal import SettingsCluster
internal import SettingsStorage

/// Runs the commands on a commit log in etcd: `settingsd cluster …`.
extension Program {
    static func runClusterCommand(
        _ command: Arguments.ClusterCommand, _ configuration: Configuration
    ) throws(ProgramError) {
        guard let verb = command.verb else {
            throw ProgramError(
                .usage, "the command cluster needs a second word",
                remedy: "write settingsd cluster status, import DIR, export DIR or new-epoch")
        }
        guard !configuration.etcd.endpoints.isEmpty else {
            throw ProgramError(
                .usage, "cannot reach etcd: no address of etcd is configured",
                remedy: "set one with --etcd.endpoints")
        }
        var tool = ClusterTool(configuration.etcd, limits: configuration.history, printLine: printLine)
        do {
            switch verb {
            case .import: try tool.importData(try directory(of: command))
            case .export: try tool.exportData(try directory(of: command))
            case .newEpoch: try tool.beginEpoch()
            case .status: try tool.printStatus()
            }
        } catch let failure as ClusterTool.Failure {
            let code: ExitCode =
                switch failure.kind {
                // The contents of etcd or of the data directory do not allow the command.
                case .refused: .usage
                case .unavailable: .etcdUnusable
                }
            throw ProgramError(code, failure.problem, remedy: failure.remedy)
        } catch let error as EtcdError {
            throw ProgramError(.etcdUnusable, "etcd: \(error)", remedy: nil)
        } catch let error as RecoveryError {
            throw ProgramError(StartError.recovery(error))
        } catch {
            throw ProgramError(error)
        }
    }

    private static func directory(of command: Arguments.ClusterCommand) throws(ProgramError) -> DataDirectory {
        guard let path = command.directory else {
            let verb = command.verb?.rawValue ?? ""
            throw ProgramError(
                .usage, "the command cluster \(verb) needs a directory", remedy: "write settingsd cluster \(verb) DIR")
        }
        return DataDirectory(path)
    }
}
