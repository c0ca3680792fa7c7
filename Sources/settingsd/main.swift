import Dispatch
import SettingsServer

var configuration = Configuration()
configuration.listen = [try ListenAddress(CommandLine.arguments.dropFirst().first ?? "127.0.0.1:7070")]
let daemon = try Daemon(configuration, log: Log.standardError(level: .info, clock: Daemon.now))
dispatchMain()
