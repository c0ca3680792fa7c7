internal import HTTPServer
internal import Platform
internal import SettingsStorage
internal import SettingsWeb

/// An exit code of the program, mostly from `sysexits.h`, which service managers know.
package enum ExitCode: Int32, CaseIterable, Sendable {
    case success = 0
    case tornTail = 1
    case usage = 64
    case damagedData = 65
    case unavailable = 68
    case cannotListen = 69
    case internalFailure = 70
    case cannotWrite = 73
    case locked = 75
    case configuration = 78

    /// What happened, for `--help` and the manual.
    package var meaning: String {
        switch self {
        case .success: "all went well"
        case .tornTail: "check: the newest journal ends in a torn line; the next start cuts it off by itself"
        case .usage: "the command line is wrong"
        case .damagedData: "stored data is damaged, or a newer version wrote it; nothing was changed"
        case .unavailable: "cluster: etcd does not answer, or has no such log"
        case .cannotListen: "an address to listen on is taken or is not there"
        case .internalFailure: "something failed that should not"
        case .cannotWrite: "the data directory cannot be made, read or written; check: it is not a data directory"
        case .locked: "another daemon uses the data directory"
        case .configuration: "the configuration is wrong"
        }
    }
}

/// An error that ends the program: one line for people, one number for programs.
package struct ProgramError: Error, Hashable, Sendable {
    package let code: ExitCode
    /// What is wrong.
    package let problem: String
    /// What to do about it, unless the problem says that already.
    package let remedy: String?

    package init(_ code: ExitCode, _ problem: String, remedy: String?) {
        self.code = code
        self.problem = problem
        self.remedy = remedy
    }
}

extension ProgramError: CustomStringConvertible {
    /// One line, although what it quotes may hold line ends.
    package var description: String {
        let parts = [Service.name, problem] + (remedy.map { [$0] } ?? [])
        return parts.joined(separator: ": ").map { $0.isNewline ? " " : String($0) }.joined()
    }
}

extension ProgramError {
    /// Gives an error that ended a start its number and its advice.
    package init(_ error: any Error) {
        switch error {
        case let error as ProgramError: self = error
        case let error as ConfigurationError: self.init(.configuration, error.problem, remedy: error.remedy)
        case let error as FileError: self.init(.cannotWrite, error.description, remedy: nil)
        case StartError.recovery(let error): self.init(error.kind.exitCode, error.description, remedy: nil)
        case StartError.configuration(let error): self.init(.configuration, error.problem, remedy: error.remedy)
        case StartError.listen(let error): self.init(.cannotListen, error.description, remedy: error.remedy)
        case StartError.system(let reason):
            self.init(.internalFailure, reason, remedy: "see what the system lacks, then start again")
        default: self.init(.internalFailure, "\(error)", remedy: "this is a defect; please report it")
        }
    }
}

extension RecoveryError.Kind {
    fileprivate var exitCode: ExitCode {
        switch self {
        case .locked: .locked
        case .inaccessible: .cannotWrite
        case .damaged, .newerFormat: .damagedData
        }
    }
}

extension ListenError {
    fileprivate var remedy: String {
        switch reason {
        case .malformed: "write it like \(example)"
        case .unresolved: "give an address of this machine, or a name that leads to one"
        case .refused(.occupied): "see what it is, or choose another path with --listen"
        case .refused(.system) where isUnix: "give a path in a directory that is there and that the daemon may write to"
        case .refused(.system(let error)):
            switch error.code {
            case SystemErrorCode.addressInUse: "stop whatever listens there, or choose another port with --listen"
            case SystemErrorCode.accessDenied: "choose a port from 1024, or give the program CAP_NET_BIND_SERVICE"
            case SystemErrorCode.addressNotAvailable: "give an address of this machine; 0.0.0.0 stands for all of them"
            default: "choose another address with --listen"
            }
        }
    }
}
