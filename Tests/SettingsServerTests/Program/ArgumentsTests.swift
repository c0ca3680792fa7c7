import HTTPServer
import SettingsCluster
import SettingsModel
import SettingsServer
import SettingsStorage
import TestSupport
import Testing

@Suite(.ownThread)
struct ArgumentsTests {
    @Test(arguments: [
        ("", Arguments.Command.serve), ("--listen 127.0.0.1:0", .serve), ("-h", .help), ("--help", .help),
        // `--help` replaces a command before it, and ignores the options after it. After `--`, each word is an operand.
        ("check --help", .help), ("--help --log info", .help), ("--version", .version),
        ("--print-config --data /d", .printConfiguration(json: false)),
        ("--print-config --json", .printConfiguration(json: true)), ("--check-config", .checkConfiguration),
        ("check", .check), ("check /d", .check), ("check --data /d", .check), ("--config /f check", .check),
        ("repair", .repair(isConfirmed: false)), ("repair /d --yes", .repair(isConfirmed: true)),
        ("repair --yes /d", .repair(isConfirmed: true)), ("check -- --odd", .check),
        ("cluster status", .cluster(Arguments.ClusterCommand(verb: .status))),
        (
            "cluster import /d --etcd.endpoints http://a:1 --etcd.prefix p",
            .cluster(Arguments.ClusterCommand(verb: .import, directory: "/d"))
        ), ("cluster new-epoch", .cluster(Arguments.ClusterCommand(verb: .newEpoch))),
    ])
    func `A command line selects the command`(line: String, command: Arguments.Command) throws {
        #expect(try Self.parse(line).command == command)
    }

    @Test(arguments: ["--data /d --durability interval --log debug", "--data=/d --durability=interval --log=debug"])
    func `A value follows its option after a space or an equals sign`(line: String) throws {
        let configuration = try Self.parse(line).configuration()
        #expect(configuration.data == "/d")
        #expect(configuration.durability == .interval)
        #expect(configuration.logLevel == .debug)
    }

    @Test(arguments: [("check /d", "/d"), ("repair --data /e", "/e"), ("check -- --odd", "--odd"), ("--data=-x", "-x")])
    func `A data directory is an operand of check and repair, or an option`(line: String, path: String) throws {
        #expect(try Self.parse(line).configuration().data == path)
    }

    @Test("The option `listen` can be repeated") func repeatedListen() throws {
        let configuration = try Self.parse("--listen 127.0.0.1:1 --listen=[::1]:2 --listen unix:/run/s")
            .configuration()
        #expect(
            configuration.listen == [
                .tcp(host: "127.0.0.1", port: 1), .tcp(host: "::1", port: 2), .unix(path: "/run/s"),
            ])
    }

    @Test
    func `A list option accepts elements separated by commas, and can be repeated`() throws {
        let configuration = try Self.parse(
            "--listen 127.0.0.1:1,unix:/run/s --listen=[::1]:2 --etcd.endpoints http://a:1,http://b:2"
        ).configuration()
        #expect(
            configuration.listen == [
                .tcp(host: "127.0.0.1", port: 1), .unix(path: "/run/s"), .tcp(host: "::1", port: 2),
            ])
        #expect(configuration.etcd.endpoints.map(\.description) == ["http://a:1", "http://b:2"])
    }

    @Test
    func `A list option with blanks only is refused`() throws {
        let error = #expect(throws: ProgramError.self) { try Arguments(["--listen", " "]) }
        #expect(error?.description.contains("--listen is an empty list") == true, "\(String(describing: error))")
    }

    @Test
    func `The command line has precedence over the file, and the file over the defaults`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file(
            "s.json", #"{"listen":["127.0.0.1:1"],"data":"/f","durability":"snapshot","stopSeconds":3}"#)
        let configuration = try Arguments([
            "--config", file, "--listen", "127.0.0.1:2", "--durability", "interval",
        ]).configuration()
        #expect(configuration.listen == [.tcp(host: "127.0.0.1", port: 2)])
        #expect(configuration.durability == .interval)
        #expect(configuration.data == "/f")
        #expect(configuration.stopSeconds == 3)
        #expect(configuration.logLevel == .info)
    }

    private static let missingHost =
        "the host is missing; use 127.0.0.1 for this machine only, or 0.0.0.0 for all IPv4 interfaces"

    @Test(arguments: [
        ("--listn 127.0.0.1:0", #"unknown option "--listn": did you mean --listen?"#),
        ("--zzzzzz", #"unknown option "--zzzzzz": settingsd --help lists the options"#),
        ("-v", #"unknown option "-v": settingsd --help lists the options"#),
        ("--Data /d", #"unknown option "--Data": did you mean --data?"#),
        ("--data /d --data /e", "--data is given twice: give it once"),
        ("--help -h", "--help is given twice: give it once"),
        ("--version --version", "--version is given twice: give it once"),
        ("--print-config --json --json", "--json is given twice: give it once"),
        ("token list --json --json", "--json is given twice: give it once"),
        ("token list x", #"unexpected word "x": omit it"#),
        ("--data", "--data has no value: write --data DIR"),
        ("--data=", "--data has no value: write --data DIR"),
        ("--data --log info", "--data has no value: write --data DIR"),
        ("--durability", "--durability has no value: write --durability always|interval|snapshot"),
        ("--durability alwys", #"--durability is "alwys": did you mean always?"#),
        ("--log loud", #"--log is "loud": it must be one of debug, info, warning, error"#),
        ("--version=1", #"--version accepts no value, but has the value "1": omit the value"#),
        (
            "--listen 7070",
            #"--listen: cannot listen on "7070": \#(missingHost): write it like 127.0.0.1:7070"#
        ),
        (
            "--listen unix:7070",
            #"--listen: cannot listen on "unix:7070": the path must begin with / and must not contain a null character"#
                + ": write it like unix:/run/settingsd/socket"
        ),
        (
            "--listen 127.0.0.1:1,7070",
            #"--listen: cannot listen on "7070": \#(missingHost): write it like 127.0.0.1:7070"#
        ), ("--listen", "--listen has no value: write --listen HOST:PORT|unix:PATH"),
        ("chek", #"unknown command "chek": did you mean check?"#),
        (
            "serve",
            #"unknown command "serve": it must be check, repair, restore, token or cluster; "#
                + "without a command, the daemon runs"
        ),
        ("restore /a /b", #"unexpected word "/b" after the backup file: omit "/b""#),
        ("check /a /b", "two data directories are given: give one directory"),
        ("check /a --data /b", "two data directories are given: give one directory"),
        ("check --yes", "--yes applies to repair only: write settingsd repair DIR --yes"),
        // `--json` must follow the option or the command that it changes.
        (
            "--json --print-config",
            """
            cannot use --json here: it applies to --print-config and token list only: \
            write --print-config --json, or token list --json
            """
        ),
        (
            "token revoke --json",
            """
            cannot use --json here: it applies to --print-config and token list only: \
            write --print-config --json, or token list --json
            """
        ),
        ("--yes", "--yes applies to repair only: write settingsd repair DIR --yes"),
        ("--log info check", "--log does not apply to this command: omit it"),
        ("check --listen 127.0.0.1:0", "--listen does not apply to this command: omit it"),
        ("check --open-to-network", "--open-to-network does not apply to this command: omit it"),
        ("--open-to-network check", "--open-to-network does not apply to this command: omit it"),
        ("--open-to-network --open-to-network", "--open-to-network is given twice: give it once"),
        (
            "--print-config check x",
            #"--print-config accepts no command, but the command line has "check": omit "check""#
        ),
        ("check --version", "--version cannot be combined with the other options or the command: omit one of them"),
        (
            "--check-config --print-config",
            "--print-config cannot be combined with the other options or the command: omit one of them"
        ),
    ])
    func `An error in the command line is reported with a remedy`(line: String, message: String) {
        let error = #expect(throws: ProgramError.self) { try Self.parse(line) }
        #expect(error?.code == .usage)
        #expect(error?.description == "settingsd: \(message)")
    }

    @Test
    func `A line break in an argument does not add a line to the error`() {
        let error = ProgramError(.usage, "unknown\r\noption\u{2028}", remedy: "write\nanother")
        #expect(error.description == "settingsd: unknown option : write another")
    }

    private static func parse(_ line: String) throws -> Arguments {
        try Arguments(line.split(separator: " ").map(String.init))
    }
}
