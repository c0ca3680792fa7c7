internal import HTTPServer
internal import Platform
internal import SettingsStorage
internal import SettingsWeb

/// An exit code of the program. Most codes are from `sysexits.h`, whose meanings service managers know.
package enum ExitCode: Int32, CaseIterable, Sendable {
    case success = 0
    case tornTail = 1
    case usage = 64
    case damagedData = 65
    case etcdUnusable = 68
    case cannotListen = 69
    case internalFailure = 70
    case cannotWrite = 73
    case locked = 75
    case configuration = 78

    /// A description of the exit code for `--help` and the manual.
    package var meaning: String {
        switch self {
        case .success: "success"
        case .tornTail: "settingsd check: the newest journal ends with an incomplete line, which the next start removes"
        case .usage: "the command line is invalid"
        case .damagedData: "stored data is damaged, or a newer version wrote it; nothing was changed"
        case .etcdUnusable:
            "settingsd cluster: etcd does not answer, has no commit log under etcd.prefix, or got a commit during the command"
        case .cannotListen: "an address to listen on is in use or does not exist"
        case .internalFailure: "an unexpected failure, or the daemon could not stop in time"
        case .cannotWrite:
            "the data directory cannot be created, read or written, or (settingsd check) is not a data directory"
        case .locked: "another daemon uses the data directory"
        case .configuration: "the configuration is invalid"
        }
    }
}

/// An error that ends the program, with a message for people and an exit code for programs.
package struct ProgramError: Error, Hashable, Sendable {
    package let code: ExitCode
    package let problem: String
    /// How to correct the problem; nil if this is unknown or a part of `problem`.
    package let remedy: String?

    package init(_ code: ExitCode, _ problem: String, remedy: String?) {
        self.code = code
        self.problem = problem
        self.remedy = remedy
    }
}

extension ProgramError: CustomStringConvertible {
    /// The message as one line. Line breaks in quoted text become spaces.
    package var description: String {
        let parts = [Service.name, problem] + (remedy.map { [$0] } ?? [])
        return parts.joined(separator: ": ").map { $0.isNewline ? " " : String($0) }.joined()
    }
}

extension ProgramError {
    /// Converts an error to a program error: adds its exit code, and how to correct the problem.
    package init(_ error: any Error) {
        switch error {
        case let error as ProgramError: self = error
        case let error as ConfigurationError: self.init(.configuration, error.problem, remedy: error.remedy)
        case let error as FileError: self.init(.cannotWrite, error.description, remedy: nil)
        case StartError.recovery(let error): self.init(error.kind.exitCode, error.description, remedy: nil)
        case StartError.configuration(let error): self.init(.configuration, error.problem, remedy: error.remedy)
        case StartError.listen(let error): self.init(.cannotListen, error.description, remedy: error.remedy)
        case StartError.system(let reason):
            self.init(.internalFailure, reason, remedy: "correct this in the system, then start the daemon again")
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
        case .unresolved: "give an address of this machine, or a name that resolves to such an address"
        case .refused(.occupied): "find out what uses this path, or choose another path with --listen"
        case .refused(.system) where isUnix: "give a path in an existing directory to which the daemon may write"
        case .refused(.system(let error)):
            switch error.code {
            case SystemErrorCode.addressInUse:
                "stop the program that uses this port, or choose another port with --listen"
            case SystemErrorCode.accessDenied: "choose a port above 1023, or give the program CAP_NET_BIND_SERVICE"
            case SystemErrorCode.addressNotAvailable: "give an address of this machine, or 0.0.0.0 for all addresses"
            default: "choose another address with --listen"
            }
        }
    }
}
