import Foundation
import TestSupport
import Testing

/// Tests of commands with two words, of help texts and usage lines, and of suites that have the name of a command.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. A `Shell` with `hasSchema: false`
/// applies no schema.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct GrammarTests {
    /// The names of the commands that a help text lists.
    static func commands(of help: String) throws -> [String] {
        let sections = help.components(separatedBy: "\n\n")
        let section = try #require(sections.first { $0.hasPrefix("commands:\n") })
        return section.split(separator: "\n").dropFirst().map { line in
            line.trimmingCharacters(in: .whitespaces).components(separatedBy: "  ")[0]
        }
    }

    @Test("help of a group lists the commands of the group, and each command has its own help text")
    func helpOfGroup() throws {
        let shell = try Shell(hasSchema: false)
        let help = try shell.runSettings("help", "schema")
        let commands = try Self.commands(of: help)
        #expect(commands == ["show", "check", "diff", "apply", "generate", "remove"].map { "schema \($0)" })
        #expect(try shell.runSettings("schema", "--help") == help)
        let overview = try Self.commands(of: shell.runSettings("help"))
        #expect(overview.filter { $0.hasPrefix("schema") } == commands)
        let diff = try shell.runSettings("help", "schema", "diff")
        #expect(
            diff.contains("\n\nusage: settings schema diff SUITE FILE [OPTIONS]\n\n") && diff.contains("--on-conflict"))
        #expect(try shell.runSettings("schema", "diff", "--help") == diff)
        #expect(try !shell.runSettings("help", "schema", "show").contains("--on-conflict"))
    }

    @Test("The help of a command with several forms has a usage line for each form")
    func formsInHelp() throws {
        let shell = try Shell(hasSchema: false)
        let usage = """


            usage: settings set SUITE KEY VALUE [OPTIONS]
                   settings set SUITE KEY=VALUE… [OPTIONS]
                   settings set SUITE KEY… --toggle [OPTIONS]


            """
        #expect(try shell.runSettings("set", "--help").contains(usage))
    }

    /// A sample value for each placeholder in usage lines. Other words of a usage line are literal, or are choices such
    /// as `a|b`.
    private static let samples = [
        "SUITE": "app", "KEY": "theme", "VALUE": "dark", "KEY=VALUE": "theme=dark", "FILE": "app.json", "PREFIX": "p",
        "FILE|DIRECTORY": "desired.json", "REVISION": "1", "ID": "p1", "WHEN": "1", "FROM": "1", "TO": "1",
        "TEXT": "dark",
    ]

    /// The command lines that a usage line describes: without and with its optional operands.
    private static func commandLines(of usage: String) throws -> [String] {
        func line(withOptional: Bool) throws -> String {
            try usage.components(separatedBy: " ").compactMap { word -> String? in
                guard !word.hasPrefix("[") || withOptional else { return nil }
                let placeholder = word.trimmingCharacters(in: ["[", "]", "…"])
                if let sample = samples[placeholder] { return sample }
                let first = try #require(placeholder.split(separator: "|").first)
                #expect(first == first.lowercased(), "\(word)")
                return String(first)
            }.joined(separator: " ")
        }
        return Array(Set([try line(withOptional: false), try line(withOptional: true)]))
    }

    @Test("Each command accepts the operands of its usage lines, and each usage line ends with [OPTIONS]")
    func usageLines() throws {
        let shell = try Shell()
        _ = try shell.directory.file("desired.json", #"{"suites":{"app":{"theme":"dark"}}}"#)
        // Each command that sends a request fails because of this invalid token, after the command has parsed its
        // command line.
        _ = try shell.directory.file("token", "no token")
        var count = 0
        for command in try Self.commands(of: shell.runSettings("help")) {
            let help = try shell.run("settings help \(command)").output.components(separatedBy: "\n\n")
            let usages = try #require(help.first { $0.hasPrefix("usage: ") }).dropFirst("usage: ".count)
            for usage in usages.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
                let parts = usage.components(separatedBy: " [OPTIONS]")
                try #require(parts.count == 2 && ["", " -- PROGRAM [ARGUMENT…]"].contains(parts[1]), "\(usage)")
                let program = parts[1].isEmpty ? "" : " -- true x"
                for line in try Self.commandLines(of: parts[0]) {
                    let end = try shell.run("\(line) --token-file token\(program)")
                    #expect(end.code != 64, "\(line): \(end)")
                    count += 1
                }
            }
        }
        #expect(count > 40)
    }

    @Test("A wrong second word or a wrong operand ends with exit code 64 and a message that states a remedy")
    func mistakes() throws {
        try Shell(hasSchema: false).runTranscript(
            """
            $ settings schema
            ! settings: the command after 'schema' is missing; 'settings help schema' lists the commands
            => 64
            $ settings schema --json
            ! settings: the command after 'schema' is missing; 'settings help schema' lists the commands
            => 64
            $ settings schema dif app
            ! settings: there is no command 'schema dif'; did you mean schema diff?; 'settings help' lists the commands
            => 64
            $ settings schema export app
            ! settings: there is no command 'schema export'; did you mean schema show?; 'settings help' lists the commands
            => 64
            $ settings help get theme
            ! settings: there is no command 'get theme'; 'settings help' lists the commands
            => 64
            $ settings schema diff app
            ! settings: FILE is missing; the usage is 'settings schema diff SUITE FILE'
            => 64
            $ settings undo
            ! settings: REVISION is missing; the usage is 'settings undo REVISION' or 'settings undo SUITE REVISION'
            => 64
            $ settings undo app 1 2
            ! settings: '2' is one argument too many; the usage is 'settings undo REVISION' or 'settings undo SUITE REVISION'
            => 64
            $ settings completion tcsh
            ! settings: settings completion takes bash, zsh or fish, not 'tcsh'
            => 64
            """)
    }

    @Test("An option that every command has is accepted before the command, and between the two words of a command")
    func commonOptions() throws {
        let shell = try Shell()
        let url = shell.url
        shell.url = "unix:/nothing"
        for line in ["settings -s \(url) schema show app", "settings schema --server=\(url) show app"] {
            #expect(try shell.run(line).output.hasPrefix("{\n"), "\(line)")
        }
    }

    @Test("settings SUITE --help prints the help of list")
    func helpOfSuite() throws {
        let shell = try Shell()
        #expect(try shell.runSettings("app", "--help") == shell.runSettings("help", "list"))
        #expect(try shell.runSettings("app", "-h") == shell.runSettings("help", "list"))
    }

    @Test(
        "The message about a wrong command line says how to list a suite with the name of the command, if the suite exists"
    )
    func suiteNamedLikeCommand() throws {
        let shell = try Shell(["settings set get a=1 --quiet", "settings set schema a=1 --quiet"])
        try shell.runTranscript(
            """
            $ settings get
            ! settings: SUITE is missing; the usage is 'settings get SUITE KEY…' or 'settings get SUITE --prefix PREFIX'
            ! 'settings list get' lists the settings of the suite get
            => 64
            $ settings get --changed
            ! settings: 'settings get' has no option --changed; 'settings help get' lists the options
            ! 'settings list get' lists the settings of the suite get
            => 64
            $ settings schema
            ! settings: the command after 'schema' is missing; 'settings help schema' lists the commands
            ! 'settings list schema' lists the settings of the suite schema
            => 64
            $ settings get app
            ! settings: KEY is missing; the usage is 'settings get SUITE KEY…' or 'settings get SUITE --prefix PREFIX'
            => 64
            $ settings edit
            ! settings: SUITE is missing; the usage is 'settings edit SUITE [KEY]'
            => 64
            """)
    }
}
