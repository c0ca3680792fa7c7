import HTTPServer
import Platform
import SettingsModel
import SettingsServer
import SettingsWeb
import TestSupport
import Testing

/// The output and the exit code of the program when it does not serve requests. The exit code 64 says that the
/// command line is wrong, 69 that the daemon cannot listen, 73 that a directory cannot be used, and 78 that the
/// configuration is wrong.
@Suite(.ownThread)
struct ProgramTests {
    @Test
    func `--help lists the commands and options`() throws {
        let end = try ChildProcess.run(["--help"])
        #expect(end.code == 0)
        #expect(end.errors == "")
        #expect(end.output.contains("usage: settingsd [OPTION]..."))
        #expect(end.output.contains("  --durability always|interval|snapshot\n"))
        #expect(end.output.contains("\n  64  the command line is invalid\n"))
        let words = Set(end.output.split { " \n".contains($0) }.map(String.init))
        // The flag of the option `openToNetwork` has another form than the flags of the other options.
        for option in Option.all where option.name != "openToNetwork" {
            #expect(words.contains(option.name) || words.contains(option.flag), "\(option.name)")
        }
        #expect(words.contains("--open-to-network") && !words.contains("openToNetwork"))
        #expect(end.output.split(separator: "\n").allSatisfy { $0.count <= 120 })
    }

    @Test
    func `check of a directory that is not a data directory ends with exit code 73`() throws {
        let directory = try TemporaryDirectory()
        // First the directory is empty. Then it has a file that the daemon did not write.
        for name in [nil, "notes.txt"] {
            _ = try name.map { try directory.file($0, "") }
            let end = try ChildProcess.run(["check", directory.path])
            #expect(end.code == 73 && end.output == "", "\(end)")
            #expect(end.errors.contains("\(directory.path): it is not a data directory"), "\(end)")
        }
        try DaemonProcess(data: directory.path).killAtOnce()
        #expect(try ChildProcess.run(["check", directory.path]).code == 0)
    }

    @Test("--version prints the version") func tellsVersion() throws {
        #expect(
            try ChildProcess.run(["--version"])
                == ChildProcess.End(code: 0, output: "settingsd \(Service.version)\n", errors: ""))
    }

    @Test("--print-config prints each option with its value and its source") func printsConfiguration() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("s.json", #"{"listen":"127.0.0.1:1","stopSeconds":3,"log":"debug"}"#)
        let environment = [
            "SETTINGSD_CONFIG=\(file)", "SETTINGSD_LISTEN=127.0.0.1:2, [::1]:2", "SETTINGSD_LOG=warning",
            "STATE_DIRECTORY=/s", "HOME=/nonexistent",
        ]
        let end = try ChildProcess.run(["--print-config", "--log=error"], environment: environment)
        #expect(end.code == 0)
        let rows = end.output.split(separator: "\n").map { $0.split(separator: "  ").map { $0.drop { $0 == " " } } }
        #expect(rows.map { String($0[0]) } == Option.all.map(\.name))
        for row in [
            ["listen", #"["127.0.0.1:2","[::1]:2"]"#, "environment SETTINGSD_LISTEN"],
            ["stopSeconds", "3", "file \(file)"], ["log", #""error""#, "flag --log"],
            ["data", #""/s""#, "from $STATE_DIRECTORY"], ["loops", "0", "default"],
        ] {
            #expect(rows.contains { $0.map(String.init) == row }, "\(row)")
        }
        let json = try ChildProcess.run(["--print-config", "--json", "--log=error"], environment: environment)
        let document = try JSONValue(parsing: Array(json.output.utf8))
        #expect(document.object.map { Array($0.names) } == Option.all.map(\.name))
        #expect(document["stopSeconds"] == ["value": 3, "from": .string("file \(file)")])
    }

    @Test(arguments: [
        (#"{"listen":"0.0.0.0:0"}"#, Int32(78), "is open to the network"),
        (
            #"{"listen":"unix:/nonexistent/socket"}"#, 69,
            "cannot listen on unix:/nonexistent/socket: bind: No such file"
        ),
        (#"{"access":{"tokens":"/nonexistent"}}"#, 78, "cannot read the token file"),
    ])
    func `--check-config refuses a configuration that a start refuses, with the same error`(
        text: String, code: Int32, message: String
    ) throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("c.json", text)
        let check = try ChildProcess.run(["--check-config", "--config", file])
        #expect(check.code == code && check.errors.contains(message), "\(check)")
        let start = try ChildProcess.run(["--config", file, "--data", directory.path + "/data", "--log", "error"])
        #expect(start.code == check.code && start.errors == check.errors, "\(start)")
    }

    @Test
    func `--check-config accepts an address in use, and warns of an audit file in a missing directory`() throws {
        let directory = try TemporaryDirectory()
        let daemon = try DaemonProcess(data: directory.path + "/data")
        let check = try ChildProcess.run(
            ["--check-config", "--listen", "127.0.0.1:\(daemon.port)", "--data", directory.path + "/data"])
        #expect(check == ChildProcess.End(code: 0, output: "the configuration is valid\n", errors: ""))
        let audit = try ChildProcess.run(
            ["--check-config", "--data", directory.path + "/data"],
            environment: ["SETTINGSD_AUDIT_FILE=/nonexistent/audit.jsonl"])
        #expect(audit.code == 0)
        #expect(
            audit.errors.contains("warning: cannot write the audit file /nonexistent/audit.jsonl: No such file"),
            "\(audit)")
        try daemon.stop()
    }

    @Test(arguments: ["--print-config", "--check-config"])
    func `An error in the environment ends the program with exit code 78`(flag: String) throws {
        let end = try ChildProcess.run([flag], environment: ["SETTINGSD_LISTENS=127.0.0.1:1"])
        let message = "unknown variable SETTINGSD_LISTENS in the environment: did you mean SETTINGSD_LISTEN?"
        #expect(end == ChildProcess.End(code: 78, output: "", errors: "settingsd: \(message)\n"))
    }

    @Test
    func `--check-config checks a configuration without a start`() throws {
        let directory = try TemporaryDirectory()
        let good = try ChildProcess.run(["--check-config", "--config", try directory.file("good", "{}")])
        #expect(good == ChildProcess.End(code: 0, output: "the configuration is valid\n", errors: ""))
        let path = try directory.file("bad", #"{"lop":1}"#)
        let bad = try ChildProcess.run(["--check-config", "--config", path])
        #expect(
            bad
                == ChildProcess.End(
                    code: 78, output: "", errors: "settingsd: \(path): unknown member \"lop\": did you mean log?\n"))
    }

    @Test("Without /proc, and with a preloaded library that changes the environment, the program reads its arguments")
    func argumentsWithoutProc() throws {
        let directory = try TemporaryDirectory()
        // The Swift runtime opens /proc/self/cmdline with fopen.
        let source = try directory.file(
            "preloaded.c",
            """
            #include <stdio.h>
            #include <stdlib.h>
            __attribute__((constructor)) static void change(void) { setenv("PRELOADED", "1", 1); }
            FILE *fopen(const char *path, const char *mode) { return NULL; }
            """)
        let library = directory.path + "/preloaded.so"
        let compiled = try ChildProcess(
            ["-shared", "-fPIC", "-o", library, source], environment: ["PATH=/usr/bin:/bin"], of: "/usr/bin/cc"
        ).end()
        #expect(compiled.code == 0, "\(compiled)")
        for (program, version) in [("settingsd", "settingsd "), ("settings", "settings ")] {
            let end = try ChildProcess(
                ["--version"], environment: ["LD_PRELOAD=\(library)"], of: ChildProcess.built(program)
            ).end()
            #expect(end.code == 0 && end.output.hasPrefix(version), "\(end)")
        }
    }

    @Test
    func `An error on the command line is one line and exit code 64`() throws {
        #expect(
            try ChildProcess.run(["--listn", "127.0.0.1:0"])
                == ChildProcess.End(
                    code: 64, output: "", errors: "settingsd: unknown option \"--listn\": did you mean --listen?\n"))
    }

    @Test
    func `A port in use ends the program with exit code 69 and names the address`() throws {
        let listener = try #require(try Listener.open(.tcp(host: "127.0.0.1", port: 0)).first)
        let directory = try TemporaryDirectory()
        let end = try ChildProcess.run([
            "--listen", "\(listener.address)", "--data", directory.path, "--log", "error",
        ])
        #expect(
            end
                == ChildProcess.End(
                    code: 69, output: "",
                    errors: "settingsd: cannot listen on \(listener.address): bind: Address already in use (error 98): "
                        + "stop the program that uses this port, or choose another port with --listen\n"))
        withExtendedLifetime(listener) {}
    }

    @Test
    func `A data directory that cannot be created ends the program with exit code 73`() throws {
        let end = try ChildProcess.run(["--listen", "127.0.0.1:0", "--data", "/dev/null/data", "--log", "error"])
        #expect(end.code == 73)
        #expect(end.errors.hasPrefix("settingsd: /dev/null/data"))
        #expect(end.errors.split(separator: "\n").count == 1)
    }
}
