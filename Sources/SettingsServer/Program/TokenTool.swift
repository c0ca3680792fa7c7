internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage
internal import SettingsWeb

/// Runs the commands that create, list and revoke tokens: `settingsd token …`.
struct TokenTool {
    private let command: Arguments.TokenCommand
    private let configuration: Configuration
    private let file: String

    init(_ command: Arguments.TokenCommand, _ configuration: Configuration) throws(ProgramError) {
        guard command.verb != nil else {
            throw ProgramError(
                .usage, "the command token needs a second word", remedy: "write settingsd token create, list or revoke")
        }
        guard let file = configuration.access.tokens else {
            throw ProgramError(
                .usage, "no token file is configured",
                remedy: "set it with --access.tokens FILE, or in the file of --config")
        }
        self.command = command
        self.configuration = configuration
        self.file = file
    }

    func run() throws {
        // Find the data directory before `switchToOwner` changes the user: the default directory depends on the user.
        let directory = (try? Program.location(of: configuration).path).map { DataDirectory($0) }
        let daemon = directory.flatMap { Self.daemon(of: $0) }
        // If root runs the command, continue as the owner of the directory of the token file, so that the daemon can
        // read a file that the command creates. If root owns this directory, `switchToOwner` changes nothing, and the
        // loop continues with the directory of the target, because the path may be a symbolic link.
        for path in [file, TokenFile.followingLinks(file)] {
            try ProcessUser.switchToOwner(of: path.parentDirectory ?? ".")
        }
        switch command.verb {
        case .create: try create(for: daemon, of: directory)
        case .revoke:
            let name = try name()
            try TokenFile.change(at: file) { (tokens: inout TokenFile) throws(ConfigurationError) in
                try tokens.revoke(name)
            }
            notifyDaemon(daemon, of: directory, "the token \(name) was revoked")
        case .list, nil:
            // If root owns the directory, the process still runs as root, and the file may belong to the user of the
            // daemon. The commands `create` and `revoke` accept such a file, too.
            let tokens = try TokenFile(at: file, acceptsAnyOwnerForRoot: true).tokens
            guard command.isJSON else {
                for token in tokens { Program.printLine(Self.line(of: token)) }
                return
            }
            let lastUses = directory.map { TokenUsage.read($0) }
            let rows = tokens.map { Self.row(of: $0, lastUsed: lastUses?[$0.digest]) }
            Program.printLine(JSONValue.array(rows).text(style: .pretty))
        }
    }

    /// Creates a token, and makes the running daemon read the token file again. The standard output contains only the
    /// token, so that a script can read it.
    private func create(for daemon: RunningProcess?, of directory: DataDirectory?) throws {
        let name = try name()
        guard !command.grants.isEmpty else {
            throw ProgramError(
                .usage, "a token without a grant has no rights", remedy: "write --grant 'app.*:read,write'")
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
        Program.printLine(token)
        notifyDaemon(daemon, of: directory, "the token \(name) was created; it is shown only now")
    }

    private func name() throws(ProgramError) -> String {
        guard let name = command.name else {
            throw ProgramError(
                .usage, "the command token \(command.verb?.rawValue ?? "") needs a name",
                remedy: "write settingsd token \(command.verb?.rawValue ?? "") NAME")
        }
        return name
    }

    /// Parses a duration such as `90d`. Returns the time at which the duration ends if it begins at `now`.
    private static func end(of duration: String, from now: Timestamp) throws(ProgramError) -> Timestamp {
        let units: [(letter: String, seconds: Int64)] = [
            ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800),
        ]
        let unit = units.first { duration.hasSuffix($0.letter) }?.seconds
        guard let unit, let count = Int64(duration.dropLast()), (1...1_000_000).contains(count) else {
            throw ProgramError(
                .usage, "--expires is \(JSONValue.string(duration).briefPhrase)",
                remedy: "write it like 90d, 12h or 30m")
        }
        return Timestamp(milliseconds: now.milliseconds + count * unit * 1000)
    }

    /// Returns the line of a token in the list: the name, the expiry and the grants, separated by tabs.
    private static func line(of token: TokenFile.Token) -> String {
        let end =
            token.expires.map { "\($0.milliseconds <= Timestamp.now().milliseconds ? "expired" : "until") \($0)" }
            ?? "never expires"
        return "\(token.name)\t\(end)\t\(token.grants.map(\.description).joined(separator: " "))"
    }

    /// Returns the JSON object of a token in the list. The member `lastUsed` is null if the time is unknown.
    private static func row(of token: TokenFile.Token, lastUsed: Timestamp?) -> JSONValue {
        func text(_ time: Timestamp?) -> JSONValue { time.map { .string($0.description) } ?? .null }
        return [
            "name": .string(token.name), "grants": .array(token.grants.map { .string($0.description) }),
            "created": text(token.created), "expires": text(token.expires), "lastUsed": text(lastUsed),
        ]
    }

    /// Returns the process of the daemon that uses a data directory; nil if there is none.
    private static func daemon(of directory: DataDirectory) -> RunningProcess? {
        guard let process = DirectoryLock.process(of: directory).map(RunningProcess.init) else { return nil }
        // The lock file may name a process that has ended, and another program may have its identifier now.
        return process.hasNameOfCurrentProcess ? process : nil
    }

    /// Makes a running daemon read the token file again. Prints `result`, and whether the daemon was notified.
    private func notifyDaemon(_ daemon: RunningProcess?, of directory: DataDirectory?, _ result: String) {
        var notification =
            "no running daemon uses \(directory?.path ?? "a default data directory"); to notify a daemon with another data "
            + "directory, add --data DIR"
        if let process = daemon {
            notification =
                ProcessSignal.hangUp.send(to: process)
                ? "sent SIGHUP to the daemon, process \(process.identifier); see its log for the result"
                : "the daemon reads the file after SIGHUP (kill -HUP \(process.identifier)) or POST /v1/reload"
        }
        Program.printError("\(result); \(notification)")
    }
}
