import HTTPServer
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsStorage
import SettingsWeb
import TestSupport
import Testing

@Suite(.ownThread)
struct ConfigurationSourcesTests {
    /// Reads the configuration from environment variables and from the words of a command line.
    private func read(_ environment: [String: String], _ words: [String] = []) throws -> Configuration {
        try Arguments(words, environment: environment).configuration()
    }

    @Test(
        "The name of a variable has the words of its option in capitals",
        arguments: [
            ("listen", "SETTINGSD_LISTEN"), ("limits.bufferBytes", "SETTINGSD_LIMITS_BUFFER_BYTES"),
            ("syncIntervalMilliseconds", "SETTINGSD_SYNC_INTERVAL_MILLISECONDS"),
        ])
    func variableNames(option: String, variable: String) {
        #expect(Option.all.first { $0.name == option }?.variable == variable)
    }

    @Test("No two options have the same variable") func variablesDiffer() {
        #expect(Set(Option.all.map(\.variable)).count == Option.all.count)
    }

    @Test("Each option can be set by its variable") func everyOption() throws {
        let defaults = Configuration()
        // `sourcedDocument` has the value and the source of each option. If the default of an option is null, an empty
        // variable sets the option to null.
        for option in Option.all {
            let value = try #require(defaults.sourcedDocument[option.name]?["value"])
            let list = value.array?.compactMap(\.string).joined(separator: ",")
            let text = list ?? value.string ?? (value == .null ? "" : value.text())
            let configuration = try read([option.variable: text])
            #expect(configuration.sourcedDocument[option.name]?["value"] == value, "\(option.name)")
            #expect(configuration.source(of: option.name) == "environment \(option.variable)")
        }
    }

    @Test("Variables set values of each type") func valueTypes() throws {
        let configuration = try read([
            "SETTINGSD_LISTEN": "127.0.0.1:1, unix:/run/s", "SETTINGSD_DATA": "/d", "SETTINGSD_SOCKET_MODE": "0660",
            "SETTINGSD_OPEN_SUITES": "false", "SETTINGSD_LIMITS_IDLE_SECONDS": "9", "SETTINGSD_HOSTS": "a.example",
            "SETTINGSD_ACCESS_USERS": #"{"%ops":["*:read"]}"#,
            "SETTINGSD_ACCESS_ANONYMOUS": "app.*:read,write, sys:read", "SETTINGSD_DURABILITY": "interval",
        ])
        #expect(configuration.listen == [.tcp(host: "127.0.0.1", port: 1), .unix(path: "/run/s")])
        #expect(configuration.data == "/d")
        #expect(configuration.socketMode == 0o660)
        #expect(!configuration.writes.createsSuites)
        #expect(configuration.transport.idleTime == 9 * TransportLimits.second)
        #expect(configuration.hosts == ["a.example"])
        #expect(configuration.access.users.map(\.name) == ["%ops"])
        #expect(configuration.access.anonymous.map(\.description) == ["app.*:read,write", "sys:read"])
        #expect(configuration.durability == .interval)
    }

    @Test(
        "A variable of access turns access control on, even without a value",
        arguments: [
            ("SETTINGSD_ACCESS_TOKENS", ""), ("SETTINGSD_ACCESS_USERS", "{}"), ("SETTINGSD_ACCESS_ANONYMOUS", ""),
            ("SETTINGSD_ACCESS_OPEN_METRICS", "false"),
        ])
    func accessControl(variable: String, value: String) throws {
        #expect(try read([variable: value]).access.isConfigured)
        #expect(try !read(["SETTINGSD_HOSTS": ""]).access.isConfigured)
        #expect(try read([:], ["--access.tokens", "/t"]).access.isConfigured)
    }

    @Test("The command line has precedence over the environment, the file and the defaults, in this order")
    func order() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file(
            "s.json", #"{"data":"/f","stopSeconds":3,"hosts":["f.example"],"durability":"snapshot"}"#)
        let environment = [
            "SETTINGSD_CONFIG": "/nonexistent", "SETTINGSD_DATA": "/e", "SETTINGSD_DURABILITY": "interval",
            "SETTINGSD_HOSTS": "",
        ]
        let configuration = try read(environment, ["--config", file, "--data", "/c"])
        #expect(configuration.data == "/c")
        #expect(configuration.durability == .interval)
        #expect(configuration.hosts == [])
        #expect(configuration.stopSeconds == 3)
        #expect(
            ["data", "durability", "stopSeconds", "loops"].map(configuration.source) == [
                "flag --data", "environment SETTINGSD_DURABILITY", "file \(file)", "default",
            ])
        #expect(try read(["SETTINGSD_CONFIG": file]).data == "/f")
        #expect(try read(["SETTINGSD_CONFIG": ""]).data == nil)
    }

    /// `SETTINGS` and `settingsd_log` lack the prefix `SETTINGSD_`. Kubernetes and Docker set the other variables in
    /// each container if the name of a service or of a linked container begins with settingsd.
    @Test("Variables of other programs, and of container services named settingsd, are ignored")
    func others() throws {
        let names = [
            "SETTINGS", "settingsd_log", "SETTINGSD_PORT_7070_TCP_ADDR", "SETTINGSD_SERVICE_HOST", "SETTINGSD_PORT",
            "SETTINGSD_HEADLESS_SERVICE_HOST", "SETTINGSD_HEADLESS_PORT_7070_TCP", "SETTINGSD_ENV_PATH",
            "SETTINGSD_NAME",
        ]
        let environment = Dictionary(uniqueKeysWithValues: names.map { ($0, "tcp://10.0.0.1:7070") })
        #expect(try read(environment).document == Configuration().document)
    }

    private static let missingHost =
        "the host is missing; use 127.0.0.1 for this machine only, or 0.0.0.0 for all IPv4 interfaces"

    @Test(
        "An error in a variable is reported with the variable and a remedy",
        arguments: [
            (
                "SETTINGSD_LIMIT_CONNECTIONS", "1",
                "unknown variable SETTINGSD_LIMIT_CONNECTIONS in the environment: did you mean SETTINGSD_LIMITS_CONNECTIONS?"
            ),
            (
                "SETTINGSD_BUFFER_BYTES", "1",
                "unknown variable SETTINGSD_BUFFER_BYTES in the environment: did you mean SETTINGSD_LIMITS_BUFFER_BYTES?"
            ),
            ("SETTINGSD_LOOPS", "two", #"SETTINGSD_LOOPS is "two": it must be an integer from 0 to 128"#),
            ("SETTINGSD_LOOPS", "", #"SETTINGSD_LOOPS is "": it must be an integer from 0 to 128"#),
            ("SETTINGSD_LOOPS", "129", "SETTINGSD_LOOPS is 129: it must be an integer from 0 to 128"),
            ("SETTINGSD_OPEN_SUITES", "yes", #"SETTINGSD_OPEN_SUITES is "yes": it must be true or false"#),
            ("SETTINGSD_LOG", "inf", #"SETTINGSD_LOG is "inf": did you mean info?"#),
            (
                "SETTINGSD_LISTEN", "127.0.0.1:1,7070",
                #"SETTINGSD_LISTEN[1]: cannot listen on "7070": \#(Self.missingHost): write it like 127.0.0.1:7070"#
            ),
            (
                "SETTINGSD_LISTEN", "",
                "SETTINGSD_LISTEN has 0 elements: it must be an address or a list of 1 to 64 addresses"
            ),
            (
                "SETTINGSD_ACCESS_USERS", "alice",
                #"SETTINGSD_ACCESS_USERS is "alice": it must be an object, as {"alice": ["*:read"]}"#
            ),
        ])
    func mistake(variable: String, text: String, message: String) {
        let error = #expect(throws: ConfigurationError.self) { try read([variable: text]) }
        #expect(error?.description == message)
    }

    @Test("Contradictory options are reported with their sources") func contradictions() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("s.json", #"{"limits":{"targetBytes":5000,"headBytes":4000}}"#)
        let error = #expect(throws: ConfigurationError.self) { try read(["SETTINGSD_CONFIG": file]) }
        #expect(
            error?.description == "limits.targetBytes (5000, file \(file)) must be less than "
                + "limits.headBytes (4000, file \(file)): lower the first or raise the second option")
        #expect(throws: Never.self) {
            try read(["SETTINGSD_CONFIG": file, "SETTINGSD_LIMITS_HEAD_BYTES": "6000"])
        }
        // A write takes the memory of its body and 512 bytes.
        let queueError = #expect(throws: ConfigurationError.self) {
            try read(["SETTINGSD_LIMITS_QUEUED_WRITE_BYTES": "4096"])
        }
        #expect(
            queueError?.description
                == "limits.queuedWriteBytes (4096, environment SETTINGSD_LIMITS_QUEUED_WRITE_BYTES) is too small for a body of "
                + "limits.bodyBytes (16777216, default): raise it to 16777728 or more, or lower limits.bodyBytes")
    }
}
