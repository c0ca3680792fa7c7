import Platform
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// What the program says and how it ends where it does not serve.
@Suite(.ownThread)
struct ProgramTests {
    @Test("--help lists the commands and options") func tellsWhatCanDo() throws {
        let end = try ChildProcess.run(["--help"])
        #expect(end.code == 0)
        #expect(end.errors == "")
        #expect(end.output.contains("usage: settingsd [OPTION]..."))
        #expect(end.output.contains("  --durability always|interval|snapshot\n"))
        #expect(end.output.contains("\n  64  the command line is wrong\n"))
    }

    @Test("--version prints the version") func tellsVersion() throws {
        #expect(
            try ChildProcess.run(["--version"])
                == ChildProcess.End(code: 0, output: "settingsd \(Service.version)\n", errors: ""))
    }

    @Test("It prints the configuration in force") func printsConfigurationForce() throws {
        let end = try ChildProcess.run(["--print-config", "--data", "/d", "--log=error"])
        #expect(end.code == 0)
        var expected = Configuration()
        expected.data = "/d"
        expected.logLevel = .error
        #expect(end.output == expected.document.text(style: .pretty) + "\n")
    }

    @Test("It checks a configuration without starting") func checksConfigurationWithoutStarting() throws {
        let directory = try TemporaryDirectory()
        let good = try ChildProcess.run(["--check-config", "--config", try directory.file("good", "{}")])
        #expect(good == ChildProcess.End(code: 0, output: "the configuration is sound\n", errors: ""))
        let path = try directory.file("bad", #"{"lop":1}"#)
        let bad = try ChildProcess.run(["--check-config", "--config", path])
        #expect(
            bad
                == ChildProcess.End(
                    code: 78, output: "", errors: "settingsd: \(path): unknown member \"lop\": did you mean log?\n"))
    }

    @Test("A mistake on the command line is one line and exit code 64") func mistakeCommandLineOne() throws {
        #expect(
            try ChildProcess.run(["--listn", "127.0.0.1:0"])
                == ChildProcess.End(
                    code: 64, output: "", errors: "settingsd: unknown option \"--listn\": did you mean --listen?\n"))
    }

    @Test("A port that is taken ends it with exit code 69, and says which") func portTakenEndsExit() throws {
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
                        + "stop whatever listens there, or choose another port with --listen\n"))
        withExtendedLifetime(listener) {}
    }

    @Test("A data directory that cannot be made ends it with exit code 73") func dataDirectoryCannotMade() throws {
        let end = try ChildProcess.run(["--listen", "127.0.0.1:0", "--data", "/dev/null/data", "--log", "error"])
        #expect(end.code == 73)
        #expect(end.errors.hasPrefix("settingsd: /dev/null/data"))
        #expect(end.errors.split(separator: "\n").count == 1)
    }
}
