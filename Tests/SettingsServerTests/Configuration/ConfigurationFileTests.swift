import HTTPServer
import HTTPWire
import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsStorage
import SettingsWeb
import TestSupport
import Testing

@Suite(.ownThread)
struct ConfigurationFileTests {
    /// Applies a configuration file to the defaults.
    private func read(_ text: String) throws -> Configuration {
        let directory = try TemporaryDirectory()
        var configuration = Configuration()
        try configuration.apply(fileAt: try directory.file("settingsd.json", text))
        return configuration
    }

    @Test
    func `The options of a file are applied`() throws {
        let configuration = try read(
            """
            {"listen":["127.0.0.1:7070","[::1]:0","unix:/run/s"],"socketMode":"0660","data":"/srv/settings","durability":"interval",
             "syncIntervalMilliseconds":50,"snapshot":{"journalBytes":2048,"intervalSeconds":7},
             "history":{"commits":11,"bytes":5000,"suiteCommits":6,"suiteBytes":70,"days":8},"hosts":["settings.example.com"],
             "origins":["https://console.example.com","http://localhost:3000"],"openSuites":false,
             "limits":{"connections":5,"targetBytes":200,"headBytes":300,"headFields":9,"bodyBytes":4096,
                       "headSeconds":1,"bodySeconds":2,"bodyProgressBytes":3,"idleSeconds":4,"sendTimeoutSeconds":5,
                       "sendBufferBytes":6000,"maxPipelinedRequests":7,"lingerSeconds":0,"lingerBytes":8,"queuedWriteBytes":9000,
                       "batchWrites":10,"batchBytes":1100},
             "loops":3,"stopSeconds":12,"log":"warning"}
            """)
        #expect(
            configuration.listen == [
                .tcp(host: "127.0.0.1", port: 7070), .tcp(host: "::1", port: 0), .unix(path: "/run/s"),
            ])
        #expect(configuration.socketMode == 0o660)
        #expect(configuration.data == "/srv/settings")
        #expect(configuration.durability == .interval)
        #expect(configuration.syncInterval == 50)
        #expect(configuration.snapshotJournalBytes == 2048)
        #expect(configuration.snapshotInterval == 7)
        #expect(configuration.history.commits == 11)
        #expect(configuration.history.bytes == 5000)
        #expect(configuration.history.suiteCommits == 6)
        #expect(configuration.history.suiteBytes == 70)
        #expect(configuration.history.age == 8 * 24 * 3_600_000, "8 days in milliseconds")
        #expect(configuration.hosts == ["settings.example.com"])
        #expect(configuration.origins == ["https://console.example.com", "http://localhost:3000"])
        #expect(configuration.writes.createsSuites == false)
        let limits = configuration.transport
        #expect(limits.connections == 5)
        #expect(
            limits.request
                == MessageLimits(
                    maximumTargetLength: 200, maximumHeadLength: 300, maximumFieldCount: 9, maximumBodyLength: 4096))
        #expect(limits.headTime == TransportLimits.second)
        #expect(limits.bodyTime == 2 * TransportLimits.second)
        #expect(limits.bodyProgressBytes == 3)
        #expect(limits.idleTime == 4 * TransportLimits.second)
        #expect(limits.sendTimeout == 5 * TransportLimits.second)
        #expect(limits.sendBufferBytes == 6000)
        #expect(limits.maxPipelinedRequests == 7)
        #expect(limits.lingerTime == 0)
        #expect(limits.lingerBytes == 8)
        #expect(configuration.writes.waitingBytes == 9000)
        #expect(configuration.writes.batchCount == 10)
        #expect(configuration.writes.batchBytes == 1100)
        #expect(configuration.loops == 3)
        #expect(configuration.stopSeconds == 12)
        #expect(configuration.logLevel == .warning)
    }

    @Test
    func `A configuration that is written as JSON and read again is equal`() throws {
        var configuration = Configuration()
        configuration.data = "/srv/settings"
        configuration.loops = 2
        configuration.hosts = ["a.example"]
        configuration.transport.headTime = 3 * TransportLimits.second
        let reread = try read(configuration.document.text(style: .pretty))
        #expect(reread.document == configuration.document)
        #expect(try read(Configuration().document.text()).document == Configuration().document)
    }

    @Test
    func `An option that a file omits keeps its value`() throws {
        #expect(try read("{}").document == Configuration().document)
        let configuration = try read(#"{"limits":{"connections":7}}"#)
        #expect(configuration.transport.connections == 7)
        #expect(configuration.transport.maxPipelinedRequests == Configuration().transport.maxPipelinedRequests)
    }

    @Test(
        "The member `access` turns access control on, even if it is empty",
        arguments: [
            (#"{"access":{}}"#, true), (#"{"access":{"users":{}}}"#, true), (#"{"access":{"anonymous":[]}}"#, true),
            (#"{"access":{"openMetrics":false}}"#, true), (#"{"access":{"tokens":null}}"#, true), ("{}", false),
            (#"{"openToNetwork":false}"#, false),
        ])
    func accessControl(text: String, isOn: Bool) throws {
        #expect(try read(text).access.isConfigured == isOn)
    }

    @Test
    func `A single address can be a string instead of a list`() throws {
        #expect(try read(#"{"listen":"127.0.0.1:1"}"#).listen == [.tcp(host: "127.0.0.1", port: 1)])
        #expect(try read(#"{"listen":"unix:/s"}"#).listen == [.unix(path: "/s")])
    }

    @Test(
        arguments: [("600", 0o600), ("0600", 0o600), ("0666", 0o666), ("000", 0), ("0777", 0o777)] as [(String, UInt32)]
    )
    func `The mode of sockets is written in octal digits`(text: String, mode: UInt32) throws {
        let configuration = try read(#"{"socketMode":"\#(text)"}"#)
        #expect(configuration.socketMode == mode)
        #expect(try read(configuration.document.text()).socketMode == mode)
    }

    @Test("The value 0 of `loops` means the default number of event loops") func zeroLoops() throws {
        #expect(try read(#"{"loops":0}"#).loops == nil)
    }

    private static let missingHost =
        "the host is missing; use 127.0.0.1 for this machine only, or 0.0.0.0 for all IPv4 interfaces"

    @Test(arguments: [
        ("", "line 1, column 1: expected a value, found the end of the text: correct the JSON in the file"),
        (
            "{\n  \"log\" \"info\"}",
            "line 2, column 9: expected ':' after the name, found '\"': correct the JSON in the file"
        ),
        ("[]", "the configuration is []: it must be an object, as {\"log\":\"info\"}"),
        (#"{"lisen":[]}"#, #"unknown member "lisen": did you mean listen?"#),
        (#"{"limits":{"connection":1}}"#, #"unknown member "connection" in limits: did you mean connections?"#),
        (#"{"connections":1}"#, #"unknown member "connections": did you mean {"limits": {"connections": 1}}?"#),
        (
            #"{"limits.idleSeconds":1}"#,
            #"unknown member "limits.idleSeconds": did you mean {"limits": {"idleSeconds": 1}}?"#
        ),
        (
            #"{"limits":{"limits.idleSeconds":1}}"#,
            #"unknown member "limits.idleSeconds" in limits: did you mean {"limits": {"idleSeconds": 1}}?"#
        ),
        (
            #"{"limits.idleSecond":1}"#,
            #"unknown member "limits.idleSecond": did you mean {"limits": {"idleSeconds": 1}}?"#
        ),
        // The remedy repeats the value of the unknown member unchanged.
        (
            #"{"history.byte":{"commits":[1,2,3]}}"#,
            #"unknown member "history.byte": did you mean {"history": {"bytes": {"commits":[1,2,3]}}}?"#
        ),
        (#"{"limits":{"listen":"a:1"}}"#, #"unknown member "listen" in limits: did you mean {"listen": "a:1"}?"#),
        (
            #"{"snapshot":{"every":1}}"#,
            #"unknown member "every" in snapshot: it must be one of journalBytes, intervalSeconds"#
        ),
        (
            #"{"snapshot":5}"#,
            "snapshot is 5: it must be an object with some of the members journalBytes, intervalSeconds"
        ),
        (#"{"loops":"2"}"#, #"loops is "2": it must be an integer from 0 to 128"#),
        (#"{"loops":1.5}"#, "loops is 1.5: it must be an integer from 0 to 128"),
        (#"{"loops":-1}"#, "loops is -1: it must be an integer from 0 to 128"),
        (#"{"limits":{"connections":0}}"#, "limits.connections is 0: it must be an integer from 1 to 1000000"),
        (#"{"limits":{"headSeconds":0}}"#, "limits.headSeconds is 0: it must be an integer from 1 to 3600"),
        (#"{"durability":"alway"}"#, #"durability is "alway": did you mean always?"#),
        (#"{"durability":"x"}"#, #"durability is "x": it must be one of always, interval, snapshot"#),
        (#"{"durability":1}"#, "durability is 1: it must be one of always, interval, snapshot"),
        (#"{"log":"inf"}"#, #"log is "inf": did you mean info?"#),
        (#"{"openSuites":1}"#, "openSuites is 1: it must be true or false"),
        (#"{"data":""}"#, "data is not a path: it must be a path such as /var/lib/settingsd"),
        (#"{"data":"a\u0000b"}"#, "data is not a path: it must be a path such as /var/lib/settingsd"),
        (#"{"data":1}"#, "data is 1: it must be a path, or null for the default directory"),
        (#"{"listen":[]}"#, "listen has 0 elements: it must be an address or a list of 1 to 64 addresses"),
        (#"{"listen":7070}"#, "listen is 7070: it must be an address or a list of 1 to 64 addresses"),
        (#"{"hosts":"a"}"#, #"hosts is "a": it must be a list of 0 to 1024 names"#),
        (
            #"{"listen":"7070"}"#,
            #"listen: cannot listen on "7070": \#(missingHost): write it like 127.0.0.1:7070"#
        ),
        (
            #"{"listen":["unix:s"]}"#,
            #"listen[0]: cannot listen on "unix:s": the path must begin with / and must not contain a null character"#
                + ": write it like unix:/run/settingsd/socket"
        ),
        (
            #"{"socketMode":"0800"}"#,
            #"socketMode is "0800": it must be an octal mode in a string, such as "0660" for the owner and the group"#
        ),
        (
            #"{"socketMode":"+66"}"#,
            #"socketMode is "+66": it must be an octal mode in a string, such as "0660" for the owner and the group"#
        ),
        (
            #"{"socketMode":"4600"}"#,
            #"socketMode is "4600": it must be an octal mode in a string, such as "0660" for the owner and the group"#
        ),
        (
            #"{"socketMode":600}"#,
            #"socketMode is 600: it must be an octal mode in a string, such as "0660" for the owner and the group"#
        ),
        (#"{"listen":[1]}"#, "listen[0] is 1: it must be a string"),
        (
            #"{"listen":["127.0.0.1:1","7070"]}"#,
            #"listen[1]: cannot listen on "7070": \#(missingHost): write it like 127.0.0.1:7070"#
        ),
        (
            #"{"hosts":["http://a"]}"#,
            #"hosts[0] is "http://a": it must be a host name, without a scheme or a port"#
        ),
        (
            #"{"origins":["https://a/"]}"#,
            #"origins[0] is "https://a/": it must be an origin such as https://console.example.com, without a path"#
        ),
        (
            #"{"origins":["console.example.com"]}"#,
            #"origins[0] is "console.example.com": "#
                + "it must be an origin such as https://console.example.com, without a path"
        ),
    ])
    func `An error in the configuration is reported with a remedy`(text: String, message: String) throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("settingsd.json", text)
        var configuration = Configuration()
        let error = #expect(throws: ConfigurationError.self) {
            try configuration.apply(fileAt: path)
        }
        #expect(error?.description == "\(path): \(message)")
    }

    @Test
    func `A missing configuration file is reported with its path`() {
        var configuration = Configuration()
        let error = #expect(throws: ConfigurationError.self) {
            try configuration.apply(fileAt: "/nonexistent/settingsd.json")
        }
        #expect(
            error?.description
                == "/nonexistent/settingsd.json: cannot read the file: open: No such file or directory (error 2): "
                + "give the path of a readable file")
    }

    /// Error 21 is `EISDIR`. A configuration file has at most 1 MiB.
    @Test
    func `A directory and an endless file are refused as configurations`() {
        var configuration = Configuration()
        let directoryError = #expect(throws: ConfigurationError.self) {
            try configuration.apply(fileAt: "/")
        }
        #expect(
            directoryError?.problem.hasPrefix("/: ") == true && directoryError?.problem.contains("error 21") == true)
        let endlessError = #expect(throws: ConfigurationError.self) {
            try configuration.apply(fileAt: "/dev/zero")
        }
        #expect(
            endlessError?.problem.hasPrefix("/dev/zero: ") == true
                && endlessError?.problem.contains("1048576 bytes") == true)
    }
}
