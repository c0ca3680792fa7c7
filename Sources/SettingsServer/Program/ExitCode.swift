/// What the program tells whoever started it, mostly in the numbers of `sysexits.h`, which service managers know.
package enum ExitCode: Int32, CaseIterable, Sendable {
    case success = 0
    case tornTail = 1
    case usage = 64
    case damagedData = 65
    case cannotListen = 69
    case internalFailure = 70
    case cannotWrite = 73
    case locked = 75
    case configuration = 78

    /// What happened, for the help and for the reference.
    package var meaning: String {
        switch self {
        case .success: "all went well"
        case .tornTail: "check: the newest journal ends in a torn line; the next start cuts it off by itself"
        case .usage: "the command line is wrong"
        case .damagedData: "stored data is damaged, or a newer version wrote it; nothing was changed"
        case .cannotListen: "an address to listen on is taken or is not there"
        case .internalFailure: "something failed that should not"
        case .cannotWrite: "the data directory cannot be made, read or written"
        case .locked: "another daemon uses the data directory"
        case .configuration: "the configuration is wrong"
        }
    }
}
