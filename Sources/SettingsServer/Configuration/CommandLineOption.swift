internal import SettingsModel

/// An option, by its name.
enum CommandLineOption: String, CaseIterable, Sendable {
    case listen, data, durability, config, log, yes, help, version
    case printConfig = "print-config"
    case checkConfig = "check-config"

    init(named name: String) throws(ProgramError) {
        if name.hasSameBytes(as: "-h") {
            self = .help
            return
        }
        guard let option = Self.allCases.first(where: { $0.flag.hasSameBytes(as: name) }) else {
            let nearest = NameSuggestion.nearest(to: name, among: Self.allCases.map(\.flag), limit: 1).first
            throw CommandLineOptions.usage(
                "unknown option \(CommandLineOptions.quoted(name))",
                nearest.map { "did you mean \($0)?" } ?? "settingsd --help lists them")
        }
        self = option
    }

    /// As it is written.
    var flag: String { "--\(rawValue)" }

    /// As it is written, with its value.
    var usage: String { valueName.map { "\(flag) \($0)" } ?? flag }

    var takesValue: Bool { valueName != nil }

    private var valueName: String? {
        switch self {
        case .listen: "HOST:PORT|unix:PATH"
        case .data: "DIR"
        case .durability: Configuration.Durability.allCases.map(\.rawValue).joined(separator: "|")
        case .config: "FILE"
        case .log: Log.Level.allCases.map(\.rawValue).joined(separator: "|")
        case .yes, .help, .version, .printConfig, .checkConfig: nil
        }
    }

    /// Whether it means something to the commands that look at a data directory.
    var goesWithDirectories: Bool {
        switch self {
        case .data, .config, .yes: true
        default: false
        }
    }

    /// For the help.
    var summary: String {
        switch self {
        case .listen: "where to listen; may be given several times (default 127.0.0.1:7070)"
        case .data: "the data directory (default: $STATE_DIRECTORY, /var/lib/settingsd or ~/.local/state/settingsd)"
        case .durability: "when a write counts as done (default always: once it is on disk)"
        case .config: "a file with options in JSON; the command line beats it"
        case .log: "the least that is logged (default info)"
        case .yes: "repair: do what it says"
        case .help: "print this, also as -h"
        case .version: "print the version"
        case .printConfig: "print the configuration in force, every option with its value"
        case .checkConfig: "check the configuration and start nothing"
        }
    }
}
