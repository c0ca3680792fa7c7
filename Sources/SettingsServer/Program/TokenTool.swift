internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage
internal import SettingsWeb

/// The commands that make, list and revoke tokens: `settingsd token …`.
struct TokenTool {
    private let command: Arguments.TokenCommand
    private let configuration: Configuration
    private let file: String

    init(_ command: Arguments.TokenCommand, _ configuration: Configuration) throws(ProgramError) {
        guard command.verb != nil else {
            throw ProgramError(.usage, "token needs a command", remedy: "write settingsd token create, list or revoke")
        }
        guard let file = configuration.access.tokens else {
            throw ProgramError(
                .usage, "there is no token file",
                remedy: "name it with --access.tokens FILE, or in the file of --config")
        }
        self.command = command
        self.configuration = configuration
        self.file = file
    }

    func run() throws {
        // Root and other users have different default directories, so this comes before the change of user.
        let directory = (try? Program.location(of: configuration).path).map { DataDirectory($0) }
        let daemon = directory.flatMap { Self.daemon(of: $0) }
        for path in [file, TokenFile.followingLinks(file)] {
            try ProcessUser.assumeOwner(of: path.parentDirectory ?? ".")
        }
        switch command.verb {
        case .create: try create(for: daemon)
        case .revoke:
            let name = try name()
            try TokenFile.change(at: file) { (tokens: inout TokenFile) throws(ConfigurationError) in
                try tokens.revoke(name)
            }
            tell(daemon, "token \(name) is revoked")
        default:
            let tokens = try TokenFile(at: file, acceptsAnyOwnerForRoot: true).tokens
            guard command.isJSON else {
                for token in tokens { Program.say(Self.line(of: token)) }
                return
            }
            let uses = directory.map { TokenUsage.read($0) }
            let rows = tokens.map { Self.row(of: $0, lastUsed: uses?[$0.digest]) }
            Program.say(JSONValue.array(rows).text(style: .pretty))
        }
    }

    /// Prints the token alone, so that a script can take it.
    private func create(for daemon: RunningProcess?) throws {
        let name = try name()
        guard !command.grants.isEmpty else {
            throw ProgramError(
                .usage, "a token without a grant may do nothing", remedy: "write --grant 'app.*:read,write'")
        }
        var grants: [Grant] = []
        do throws(BodyError) {
            for text in command.grants { grants.append(try Grant(text)) }
        } catch {
            throw ProgramError(.usage, "--grant: \(error)", remedy: nil)
        }
        let now = Timestamp.now()
        let expires = try command.expires.map { try Self.end(of: $0, from: now) }
        let token = try TokenFile.change(at: file) { [grants] (tokens: inout TokenFile) throws(ConfigurationError) in
            try tokens.create(name, grants, expires: expires, now: now)
        }
        Program.say(token)
        tell(daemon, "token \(name) is made; it is shown this once")
    }

    private func name() throws(ProgramError) -> String {
        guard let name = command.name else {
            throw ProgramError(
                .usage, "token \(command.verb?.rawValue ?? "") needs a name",
                remedy: "write settingsd token \(command.verb?.rawValue ?? "") NAME")
        }
        return name
    }

    /// Reads a span such as `90d`, and returns the instant at its end.
    private static func end(of span: String, from now: Timestamp) throws(ProgramError) -> Timestamp {
        let units: [(letter: String, seconds: Int64)] = [
            ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800),
        ]
        let unit = units.first { span.hasSuffix($0.letter) }?.seconds
        guard let unit, let count = Int64(span.dropLast()), (1...1_000_000).contains(count) else {
            throw ProgramError(
                .usage, "--expires is \(JSONValue.string(span).briefPhrase)", remedy: "write it like 90d, 12h or 30m")
        }
        return Timestamp(milliseconds: now.milliseconds + count * unit * 1000)
    }

    /// The line of a token in the list: name, end and grants, with tabs between.
    private static func line(of token: TokenFile.Token) -> String {
        let end =
            token.expires.map { "\($0.milliseconds <= Timestamp.now().milliseconds ? "expired" : "until") \($0)" }
            ?? "for good"
        return "\(token.name)\t\(end)\t\(token.grants.map(\.description).joined(separator: " "))"
    }

    /// The JSON entry of a token in the list. `lastUsed` is null if it is unknown.
    private static func row(of token: TokenFile.Token, lastUsed: Timestamp?) -> JSONValue {
        func text(_ time: Timestamp?) -> JSONValue { time.map { .string($0.description) } ?? .null }
        return [
            "name": .string(token.name), "grants": .array(token.grants.map { .string($0.description) }),
            "created": text(token.created), "expires": text(token.expires), "lastUsed": text(lastUsed),
        ]
    }

    /// The process of the daemon that uses a data directory.
    private static func daemon(of directory: DataDirectory) -> RunningProcess? {
        guard let process = DirectoryLock.process(of: directory).map(RunningProcess.init) else { return nil }
        // The lock may name a process that has ended. The system may have given its number to another program.
        return process.hasNameOfCurrentProcess ? process : nil
    }

    /// Has the daemon of the data directory read the token file again, and says whether it does.
    private func tell(_ daemon: RunningProcess?, _ done: String) {
        var next = "a daemon takes it when it starts"
        if let process = daemon {
            next =
                ProcessSignal.hangUp.send(to: process)
                ? "sent SIGHUP to the daemon, process \(process.identifier); its log says if it took the file"
                : "the daemon reads the file at SIGHUP (kill -HUP \(process.identifier)) or POST /v1/reload"
        }
        Program.complain("\(done); \(next)")
    }
}
