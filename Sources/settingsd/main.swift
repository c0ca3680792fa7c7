import Dispatch
import Glibc
import SettingsServer

var configuration = Configuration()
configuration.listen = [try ListenAddress(CommandLine.arguments[1])]
if CommandLine.arguments.count > 3 {
    configuration.durability = Configuration.Durability(rawValue: CommandLine.arguments[3])!
}
let daemon = try Daemon(
    configuration, directory: CommandLine.arguments[2], log: Log.standardError(level: .debug, clock: Daemon.now))
signal(SIGTERM, SIG_IGN)
let s = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
s.setEventHandler {
    daemon.stop { e in
        print(e as Any); exit(0)
    }
}
s.activate()
dispatchMain()
