internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsCluster
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage
internal import SettingsWeb

extension Option {
    /// Every option, in the order of the shipped configuration file.
    package static let all =
        locations + etcd + storage + clientOptions + access + limits + quotas.map { $0.reloadable() } + processOptions

    private static let locations: [Option] = [
        .list(
            "listen", 1...64, of: "addresses", orOne: "an address", \.listen,
            "the address to listen on, or a list of addresses: `host:port`, `[::1]:7070`, `unix:/path`",
            read: { text, name throws(ConfigurationError) in
                do throws(ListenError) {
                    return try ListenAddress(text)
                } catch {
                    throw ConfigurationError("\(name): \(error)", remedy: "write it like \(error.example)")
                }
            }, write: \.description
        ).onCommandLine("HOST:PORT|unix:PATH"),
        Option(
            "socketMode", type: "string of octal digits",
            "the file mode of Unix domain sockets; a user needs the permission to write in order to connect"
        ) {
            json, name, configuration throws(ConfigurationError) in
            let digits = json.string.map { Array($0.utf8) } ?? []
            // `UInt32` also accepts a sign, so the first character must be a digit.
            guard (3...4).contains(digits.count), digits.count == 3 || digits[0] == UInt8(ascii: "0"),
                UInt8(ascii: "0")...UInt8(ascii: "7") ~= digits[0],
                let mode = UInt32(String(decoding: digits, as: UTF8.self), radix: 8)
            else {
                throw ConfigurationError(
                    "\(name) is \(json.briefPhrase)",
                    remedy: "it must be an octal mode in a string, such as \"0660\" for the owner and the group")
            }
            configuration.socketMode = mode
        } write: { configuration in
            // Adding and dropping a leading 1 pads the mode to three digits.
            .string("0" + String(configuration.socketMode + 0o1000, radix: 8).dropFirst())
        },
        path(
            "data", \.data, nullMeaning: "the default directory",
            "the data directory, by default `$STATE_DIRECTORY`, else `/var/lib/settingsd` (root) or "
                + "`~/.local/state/settingsd`"
        ).onCommandLine("DIR"),
        path(
            "schemas", \.schemas, nullMeaning: "none",
            "a directory with the schemas of suites, in files `SUITE.json`"
        ).onCommandLine("DIR").reloadable(),
    ]

    private static let etcd: [Option] = [
        .list(
            "etcd.endpoints", 0...16, of: "addresses", orOne: "an address", \.etcd.endpoints,
            "the members of etcd that store the data, as `http://10.0.0.5:2379`",
            read: { text, name throws(ConfigurationError) in
                guard let endpoint = EtcdEndpoint(text) else {
                    throw ConfigurationError(
                        "\(name) is \(JSONValue.string(text).briefPhrase)",
                        remedy: "it must be http:// with a host and a port; for TLS, use a tunnel on this machine"
                    )
                }
                return endpoint
            }, write: \.description
        ).onCommandLine("http://HOST:PORT"),
        Option(
            "etcd.prefix", type: "string",
            "the prefix of keys in etcd; daemons with the same prefix share their data"
        ) {
            json, name, configuration throws(ConfigurationError) in
            guard let prefix = json.string, EtcdOptions.isPrefix(prefix) else {
                throw ConfigurationError(
                    "\(name) is \(json.briefPhrase)",
                    remedy: "it must be 1 to 128 letters, digits and ._-/ without a slash at either end")
            }
            configuration.etcd.prefix = prefix
        } write: { configuration in
            .string(configuration.etcd.prefix)
        }.onCommandLine("PREFIX"),
        path(
            "etcd.passwordFile", \.etcd.passwordFile, nullMeaning: "none",
            "a file with `NAME:PASSWORD` of the etcd user; only the owner may have the permission to read the file"),
    ]

    private static let access: [Option] = [
        path(
            "access.tokens", \.access.tokens, nullMeaning: "none",
            "the token file; a member `access` of the configuration, even `{}`, turns on access control"
        ).onCommandLine("FILE").reloadable(),
        Option(
            "access.users", type: "object",
            "the grants of users on Unix domain sockets; a leading `%` means a group, as `{\"%ops\": [\"*:read\"]}`",
            variableSyntax: .json
        ) { json, name, configuration throws(ConfigurationError) in
            guard let object = json.object else {
                throw ConfigurationError(
                    "\(name) is \(json.briefPhrase)", remedy: "it must be an object, as {\"alice\": [\"*:read\"]}")
            }
            var users: [(name: String, grants: [Grant])] = []
            for member in object {
                users.append((member.name, try grants(member.value, "\(name).\(member.name)")))
            }
            configuration.access.users = users
        } write: { configuration in
            var users = JSONObject()
            for user in configuration.access.users {
                users[user.name] = .array(user.grants.map { .string($0.description) })
            }
            return .object(users)
        }.reloadable(),
        Option(
            "access.anonymous", type: "list of grants",
            "the grants of callers without a credential, as `[\"app.*:read\"]`",
            variableSyntax: .grants
        ) {
            json, name, configuration throws(ConfigurationError) in
            configuration.access.anonymous = try grants(json, name)
        } write: { configuration in
            .array(configuration.access.anonymous.map { .string($0.description) })
        }.reloadable(),
        .bool("access.openMetrics", \.access.opensMetrics, "true if `/metrics` requires no grant").reloadable(),
        .list(
            "trustedProxies", 0...256, of: "addresses", \.proxyList,
            "proxies whose `X-Forwarded-For` is trusted: addresses, ranges as `10.0.0.0/8`, or `unix` for Unix sockets",
            read: { text, name throws(ConfigurationError) in
                guard text == "unix" || AddressRange(text) != nil else {
                    throw ConfigurationError(
                        "\(name) is \(JSONValue.string(text).briefPhrase)",
                        remedy: "it must be a numeric address, a range such as 10.0.0.0/8, or unix")
                }
                return text
            }, write: { $0 }
        ).reloadable(),
        path(
            "auditFile", \.auditFile, nullMeaning: "none",
            "a file to which the daemon appends a line of JSON for each commit"),
        .bool(
            "openToNetwork", \.isOpenToNetwork,
            "true if the daemon may listen on network addresses without access control; also the flag `--open-to-network`"
        ),
    ]

    private static func grants(_ json: JSONValue, _ name: String) throws(ConfigurationError) -> [Grant] {
        do throws(BodyError) {
            return try [Grant](json: json)
        } catch {
            throw ConfigurationError(
                "\(name): \(error)",
                remedy: "it must be a list of grants, such as [\"app.*:read,write\"]")
        }
    }

    private static let storage: [Option] = [
        .word(
            "durability", \.durability,
            "acknowledge a write after a sync (always), before a sync at an interval, or before a snapshot"
        )
        .onCommandLine(Durability.allCases.map(\.rawValue).joined(separator: "|")),
        .integer(
            "syncIntervalMilliseconds", 1...3_600_000, \.syncInterval, "how often to sync with durability `interval`"),
        .integer(
            "snapshot.journalBytes", 1024...1 << 40, \.snapshotJournalBytes,
            "the size of the journal at which the daemon writes a snapshot"),
        .integer(
            "snapshot.intervalSeconds", 1...604_800, \.snapshotInterval,
            "the interval at which the daemon writes a snapshot if there are changes"),
        .integer(
            "scrubSeconds", 0...31_536_000, \.scrubInterval,
            "the interval at which the daemon reads its files in order to detect damage; 0 for never"),
        .integer(
            "history.commits", 1...16_777_216, \.history.commits,
            "recent commits to keep in memory: for watchers that resume, for `?at=`, and to recognize repeated writes"),
        .integer("history.bytes", 4096...1 << 40, \.history.bytes, "the approximate maximum memory for recent commits"),
        .integer(
            "history.suiteCommits", 0...16_777_216, \.history.suiteCommits,
            "the newest commits of each suite that remain in memory when other suites fill the history"),
        .integer(
            "history.suiteBytes", 0...1 << 40, \.history.suiteBytes,
            "the maximum memory of these newest commits of a suite; in all suites together, at most half of history.bytes"
        ),
        .integer(
            "history.days", 0...36_500, \.historyDays,
            "days to keep commits, on disk if they do not fit into memory; 0 to keep commits in memory only"),
    ]

    private static let clientOptions: [Option] = [
        .list(
            "hosts", 0...1024, of: "names", \.hosts,
            "host names in requests that the daemon accepts, in addition to IP addresses and `localhost`",
            read: host, write: { $0 }
        ).reloadable(),
        .list(
            "origins", 0...1024, of: "origins", \.origins,
            "origins of web pages that may read answers (CORS), as `https://console.example.com`", read: origin,
            write: { $0 }
        ).reloadable(),
        .bool(
            "openSuites", \.writes.createsSuites,
            "true if a write may create a suite; if false, only setting a schema creates a suite"
        ).reloadable(),
        .bool(
            "page", \.servesWebPage,
            "true if the daemon serves the web page `/ui/`, which shows and changes settings"
        ).reloadable(),
        .seconds(
            "clients.forgetSeconds", 1...86_400, \.clientForgetTime,
            "the time without a report and a watch after which a client is `gone`, and is no longer counted"
        ).reloadable(),
    ]

    private static let limits = (transportLimits + memoryLimits).map { $0.reloadable() }

    private static let transportLimits: [Option] = [
        .integer(
            "limits.connections", 1...1_000_000, \.transport.connections,
            "the maximum number of connections; lowered if the limit of open files requires it (`LimitNOFILE`)"),
        .integer(
            "limits.connectionsPerAddress", 1...1_000_000, \.transport.connectionsPerAddress,
            "the maximum number of connections from one address; lower it if clients are not trusted"),
        .integer(
            "limits.watchers", 0...1_000_000, \.watchers.total,
            "the maximum number of watchers; lowered if it is not below the maximum number of connections"),
        .integer(
            "limits.watchersPerCaller", 0...1_000_000, \.watchers.perCaller,
            "the maximum number of watchers of one caller; lower it if clients are not trusted"),
        .integer(
            "limits.requestsPerSecond", 0...1_000_000, \.rate.perSecond,
            "the maximum requests per second of one caller; 0 for no limit"),
        .integer(
            "limits.requestBurst", 1...10_000_000, \.rate.burst,
            "the maximum number of requests that a caller may send at once after a pause"),
        .integer("limits.targetBytes", 128...1 << 20, \.targetBytes, "the maximum length of a path with its query"),
        .integer("limits.headBytes", 256...1 << 20, \.headBytes, "the maximum length of the head of a request"),
        .integer("limits.headFields", 8...4096, \.headFields, "the maximum number of header fields of a request"),
        .integer("limits.bodyBytes", 1024...1 << 30, \.bodyBytes, "the maximum length of a request body"),
        .seconds(
            "limits.headSeconds", 1...3600, \.transport.headTime, "the time in which a client must send a complete head"
        ),
        .seconds(
            "limits.bodySeconds", 1...3600, \.transport.bodyTime,
            "the time in which a client must send each `limits.bodyProgressBytes` of a body"),
        .integer(
            "limits.bodyProgressBytes", 1...1 << 30, \.transport.bodyProgressBytes,
            "the number of bytes of a body that a client must send in `limits.bodySeconds`"),
        .seconds(
            "limits.idleSeconds", 1...86_400, \.transport.idleTime,
            "the maximum time between two requests of a connection"),
        .seconds(
            "limits.sendTimeoutSeconds", 1...3600, \.transport.sendTimeout,
            "the time after which the daemon resets a connection whose client does not read its answers"),
        .integer(
            "limits.sendBufferBytes", 1024...1 << 30, \.transport.sendBufferBytes,
            "the bytes of answers that the daemon collects for a client with pipelined requests before it sends them"),
        .integer(
            "limits.maxPipelinedRequests", 1...65_536, \.transport.maxPipelinedRequests,
            "the maximum number of unanswered requests of a connection"),
        .seconds(
            "limits.lingerSeconds", 0...60, \.transport.lingerTime,
            "the time for which the daemon reads and discards data after the last answer of a connection"),
        .integer(
            "limits.lingerBytes", 0...1 << 30, \.transport.lingerBytes,
            "the maximum number of bytes that the daemon reads and discards after the last answer of a connection"),
    ]

    private static let memoryLimits: [Option] = [
        .integer(
            "limits.bufferBytes", 1 << 20...1 << 40, \.bufferBytes,
            "the maximum memory for request bodies, unsent answers and background work"),
        .integer(
            "limits.queuedWriteBytes", 4096...1 << 40, \.writes.waitingBytes,
            "the maximum bytes of queued writes; one caller may use half of these bytes while other callers have "
                + "queued writes"
        ),
        .integer(
            "limits.commitKeys", 100...1 << 30, \.writes.commitKeys,
            "the maximum number of keys that one write may change, and that a suite may have when its schema is set"),
        .integer(
            "limits.batchWrites", 1...1_000_000, \.writes.batchCount, "the maximum number of writes that share one sync"
        ),
        .integer(
            "limits.batchBytes", 1024...1 << 30, \.writes.batchBytes, "the maximum bytes of writes that share one sync"),
    ]

    private static let quotas: [Option] = [
        .integer("quotas.suites", 1...1 << 40, \.writes.quotas.suites, "the maximum number of suites"),
        .integer(
            "quotas.keysPerSuite", 1...1 << 40, \.writes.quotas.keysPerSuite,
            "the maximum number of keys of a suite that have a value or occur in its schema"),
        .integer(
            "quotas.valueBytes", 1024...1 << 40, \.writes.quotas.valueBytes, "the maximum memory of one value"),
        .integer(
            "quotas.suiteBytes", 4096...1 << 40, \.writes.quotas.suiteBytes,
            "the maximum memory of a suite with its settings and its schema"),
        .integer(
            "quotas.totalBytes", 4096...1 << 40, \.writes.quotas.totalBytes,
            "the maximum memory of all suites, without the history and the buffers"),
    ]

    private static let processOptions: [Option] = [
        .integer(
            "loops", 0...128, \.loopCount,
            "the number of event loops; 0 for half the number of cores. With one loop per core, thousands of watchers get a "
                + "commit sooner"),
        .integer("stopSeconds", 0...3600, \.stopSeconds, "the time for which a stop waits for open connections"),
        .word("log", \.logLevel, "the lowest level of messages that the daemon logs")
            .onCommandLine(Log.Level.allCases.map(\.rawValue).joined(separator: "|")).reloadable(),
        .word(
            "accessLog", \.logging.access,
            "a line on standard output for each request: none, in the common or combined log format, or in JSON"
        ).reloadable(),
        .integer(
            "slowRequestMs", 0...3_600_000, \.logging.slowMilliseconds,
            "the duration in milliseconds from which the daemon logs a request as slow; 0 for never"
        ).reloadable(),
    ]

    private static func host(_ text: String, _ name: String) throws(ConfigurationError) -> String {
        guard StringFormat.hostname.accepts(text) else {
            throw ConfigurationError(
                "\(name) is \(JSONValue.string(text).briefPhrase)",
                remedy: "it must be a host name, without a scheme or a port")
        }
        return text
    }

    private static func origin(_ text: String, _ name: String) throws(ConfigurationError) -> String {
        let scheme = ["http://", "https://"].first { text.lowercased().hasBytePrefix($0) }
        let authority = scheme.map { text.utf8.dropFirst($0.utf8.count) }
        guard let authority, !authority.isEmpty,
            authority.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"/?#@\\".utf8.contains($0) })
        else {
            throw ConfigurationError(
                "\(name) is \(JSONValue.string(text).briefPhrase)",
                remedy: "it must be an origin such as https://console.example.com, without a path")
        }
        return text
    }
}

/// Values of options that the configuration stores in a different form than the configuration file.
extension Configuration {
    fileprivate var proxyList: [String] {
        get { (proxies.includesUnix ? ["unix"] : []) + proxies.ranges.map(\.description) }
        set {
            proxies.includesUnix = newValue.contains("unix")
            proxies.ranges = newValue.compactMap { AddressRange($0) }
        }
    }

    fileprivate var historyDays: Int {
        get { history.age == .max ? 0 : Int(history.age / 86_400_000) }
        set { history.age = newValue == 0 ? .max : Int64(newValue) * 86_400_000 }
    }

    fileprivate var loopCount: Int {
        get { loops ?? 0 }
        set { loops = newValue == 0 ? nil : newValue }
    }

    fileprivate var targetBytes: Int {
        get { transport.request.maximumTargetLength }
        set { setRequest(target: newValue) }
    }

    fileprivate var headBytes: Int {
        get { transport.request.maximumHeadLength }
        set { setRequest(head: newValue) }
    }

    fileprivate var headFields: Int {
        get { transport.request.maximumFieldCount }
        set { setRequest(fields: newValue) }
    }

    fileprivate var bodyBytes: Int {
        get { transport.request.maximumBodyLength }
        set { setRequest(body: newValue) }
    }

    private mutating func setRequest(target: Int? = nil, head: Int? = nil, fields: Int? = nil, body: Int? = nil) {
        let current = transport.request
        transport.request = MessageLimits(
            maximumTargetLength: target ?? current.maximumTargetLength,
            maximumHeadLength: head ?? current.maximumHeadLength,
            maximumFieldCount: fields ?? current.maximumFieldCount, maximumBodyLength: body ?? current.maximumBodyLength
        )
    }
}
