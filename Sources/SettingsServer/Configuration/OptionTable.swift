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
    /// Every option, in the order in which a file has them.
    package static let all =
        places + etcd + storage + callers + access + limits + quotas.map { $0.reloaded() } + running

    private static let places: [Option] = [
        .list(
            "listen", 1...64, of: "addresses", orOne: "an address", \.listen,
            "where to listen, one or a list: `host:port`, `[::1]:7070`, `unix:/path`",
            read: { text, name throws(ConfigurationError) in
                do throws(ListenError) {
                    return try ListenAddress(text)
                } catch {
                    throw ConfigurationError("\(name): \(error)", remedy: "write it like \(error.example)")
                }
            }, write: \.description
        ).onCommandLine("HOST:PORT|unix:PATH"),
        Option(
            "socketMode", "three octal digits", "the mode of Unix domain sockets: who may write to one may connect"
        ) {
            json, name, configuration throws(ConfigurationError) in
            let digits = json.string.map { Array($0.utf8) } ?? []
            guard (3...4).contains(digits.count), digits.count == 3 || digits[0] == UInt8(ascii: "0"),
                let mode = UInt32(String(decoding: digits, as: UTF8.self), radix: 8)
            else {
                throw ConfigurationError(
                    "\(name) is \(json.briefPhrase)",
                    remedy: "it must be three octal digits in a string, as \"0660\" for the owner and the group")
            }
            configuration.socketMode = mode
        } write: { configuration in
            .string("0" + String(configuration.socketMode + 0o1000, radix: 8).dropFirst())
        },
        path(
            "data", \.data, or: "the usual place",
            "the data directory, by default `$STATE_DIRECTORY`, `/var/lib/settingsd` or `~/.local/state/settingsd`"
        ).onCommandLine("DIR"),
        path(
            "schemas", \.schemas, or: "none",
            "a folder of schemas that are put in force, `SUITE.json` for each suite; see [Schemas from files](#schemas-from-files)"
        ).onCommandLine("DIR").reloaded(),
    ]

    private static let etcd: [Option] = [
        .list(
            "etcd.endpoints", 0...16, of: "addresses", orOne: "an address", \.etcd.endpoints,
            "the members of etcd that keep the data, as `http://10.0.0.5:2379`; see [several daemons](cluster.md)",
            read: { text, name throws(ConfigurationError) in
                guard let endpoint = EtcdEndpoint(text) else {
                    throw ConfigurationError(
                        "\(name) is \(JSONValue.string(text).briefPhrase)",
                        remedy: "it must be http:// with a host and a port; TLS is the work of a tunnel on this machine"
                    )
                }
                return endpoint
            }, write: \.description
        ).onCommandLine("http://HOST:PORT"),
        Option("etcd.prefix", "", "what the keys in etcd begin with; daemons with the same prefix share their data") {
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
            "etcd.passwordFile", \.etcd.passwordFile, or: "none",
            "the file with `NAME:PASSWORD` of the user of etcd, which only its owner may read"),
    ]

    private static let access: [Option] = [
        path(
            "access.tokens", \.access.tokens, or: "none",
            "the token file; with any member `access`, even an empty one, callers need grants: see [security](security.md)"
        ).onCommandLine("FILE").reloaded(),
        Option(
            "access.users", "",
            "the grants of users of Unix domain sockets, and of groups after `%`, as `{\"%ops\": [\"*:read\"]}`",
            form: .json
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
        }.reloaded(),
        Option(
            "access.anonymous", "", "the grants of callers without a credential, as `[\"app.*:read\"]`", form: .grants
        ) {
            json, name, configuration throws(ConfigurationError) in
            configuration.access.anonymous = try grants(json, name)
        } write: { configuration in
            .array(configuration.access.anonymous.map { .string($0.description) })
        }.reloaded(),
        .bool("access.openMetrics", \.access.opensMetrics, "true if `/metrics` needs no grant").reloaded(),
        .list(
            "trustedProxies", 0...256, of: "addresses", \.proxyList,
            "proxies whose `X-Forwarded-For` says who the client is, as `127.0.0.1`, `10.0.0.0/8` or `unix`",
            read: { text, name throws(ConfigurationError) in
                guard text == "unix" || AddressRange(text) != nil else {
                    throw ConfigurationError(
                        "\(name) is \(JSONValue.string(text).briefPhrase)",
                        remedy: "it must be an address in figures, a range such as 10.0.0.0/8, or unix")
                }
                return text
            }, write: { $0 }
        ).reloaded(),
        path(
            "auditFile", \.auditFile, or: "none",
            "the file that gets a line of JSON for each commit: see [security](security.md#audit)"),
        .bool(
            "openToNetwork", \.isOpenToNetwork,
            "true if the daemon may listen to the network without access control, also as `--open-to-network`"),
    ]

    private static func grants(_ json: JSONValue, _ name: String) throws(ConfigurationError) -> [Grant] {
        do throws(BodyError) {
            return try [Grant](json: json)
        } catch {
            throw ConfigurationError(
                "\(name): \(error)",
                remedy: "it must be a list of grants, as [\"app.*:read,write\"]: see docs/security.md")
        }
    }

    private static let storage: [Option] = [
        .word("durability", \.durability, "when a write counts as done; see [Durability](#durability)")
            .onCommandLine(Durability.allCases.map(\.rawValue).joined(separator: "|")),
        .integer(
            "syncIntervalMilliseconds", 1...3_600_000, \.syncInterval, "how often to sync with durability `interval`"),
        .integer(
            "snapshot.journalBytes", 1024...1 << 40, \.snapshotJournalBytes,
            "how far the journal may grow before a snapshot"),
        .integer(
            "snapshot.intervalSeconds", 1...604_800, \.snapshotInterval,
            "after how long with changes there is a snapshot"),
        .integer(
            "scrubSeconds", 0...31_536_000, \.scrubInterval,
            "how often the files are read again, slowly, to see that the disk still has them; 0 for never"),
        .integer(
            "history.commits", 1...16_777_216, \.history.commits,
            "recent commits that are kept: for watchers that resume, `?at=` and repeated requests"),
        .integer("history.bytes", 4096...1 << 40, \.history.bytes, "about how much memory these may take"),
        .integer(
            "history.suiteCommits", 0...16_777_216, \.history.suiteCommits,
            "newest commits of a suite that other suites do not push out"),
        .integer(
            "history.suiteBytes", 0...1 << 40, \.history.suiteBytes,
            "how much memory these may take; all suites together get at most half of the history"),
        .integer(
            "history.days", 0...36_500, \.historyDays,
            "days for which commits are kept, those on disk that memory has no room for; 0 for what fits into memory"),
    ]

    private static let callers: [Option] = [
        .list(
            "hosts", 0...1024, of: "names", \.hosts,
            "host names that the daemon answers to, beside addresses and `localhost`",
            read: host, write: { $0 }
        ).reloaded(),
        .list(
            "origins", 0...1024, of: "origins", \.origins,
            "origins of pages that may read all answers (CORS), as `https://console.example.com`", read: origin,
            write: { $0 }
        ).reloaded(),
        .bool("openSuites", \.writes.createsSuites, "true if a write may create a suite; if false, only a schema does")
            .reloaded(),
        .bool("page", \.servesPage, "true if `/ui/` is a [page](page.md) on which people see and change settings")
            .reloaded(),
    ]

    private static let limits = (limitsOfPeers + limitsOfMemory).map { $0.reloaded() }

    private static let limitsOfPeers: [Option] = [
        .integer(
            "limits.connections", 1...1_000_000, \.transport.connections,
            "connections at a time; lowered to what the limit of open files allows (`LimitNOFILE`)"),
        .integer(
            "limits.connectionsPerAddress", 1...1_000_000, \.transport.connectionsPerAddress,
            "connections at a time from one address; lower it where strangers connect"),
        .integer(
            "limits.watchers", 0...1_000_000, \.watchers.total,
            "requests that wait for a change; lowered below the connections, so that there is room for others"),
        .integer(
            "limits.watchersPerCaller", 0...1_000_000, \.watchers.perCaller,
            "the same of one caller: a token or user, else an address; lower it where strangers connect"),
        .integer(
            "limits.requestsPerSecond", 0...1_000_000, \.rate.perSecond,
            "requests a second of one caller; 0 for any number. Without a credential, programs on this machine are free"
        ),
        .integer(
            "limits.requestBurst", 1...10_000_000, \.rate.burst, "requests that a caller may send at once, after a rest"
        ),
        .integer("limits.targetBytes", 128...1 << 20, \.targetBytes, "length of a path with its query"),
        .integer("limits.headBytes", 256...1 << 20, \.headBytes, "length of the head of a request"),
        .integer("limits.headFields", 8...4096, \.headFields, "header fields of a request"),
        .integer("limits.bodyBytes", 1024...1 << 30, \.bodyBytes, "length of a body"),
        .seconds("limits.headSeconds", 1...3600, \.transport.headTime, "time for a head to be complete"),
        .seconds(
            "limits.bodySeconds", 1...3600, \.transport.bodyTime,
            "time for each `limits.bodyProgressBytes` of a body"),
        .integer(
            "limits.bodyProgressBytes", 1...1 << 30, \.transport.bodyProgress,
            "what a body must progress by in `limits.bodySeconds`"),
        .seconds("limits.idleSeconds", 1...86_400, \.transport.idleTime, "time between two requests of a connection"),
        .seconds(
            "limits.sendTimeoutSeconds", 1...3600, \.transport.sendTimeout,
            "time for a client to read something of its answers, before the connection is reset"),
        .integer(
            "limits.sendBufferBytes", 1024...1 << 30, \.transport.sendBufferBytes,
            "answers that wait to be sent on a connection, before it is read no further"),
        .integer(
            "limits.maxPipelinedRequests", 1...65_536, \.transport.maxPipelinedRequests,
            "pipelined requests of a connection that may be under way"),
        .seconds(
            "limits.lingerSeconds", 0...60, \.transport.lingerTime,
            "how long a connection is read after its last answer"),
        .integer(
            "limits.lingerBytes", 0...1 << 30, \.transport.lingerBytes,
            "how much of a connection is read after its last answer"),
    ]

    private static let limitsOfMemory: [Option] = [
        .integer(
            "limits.bufferBytes", 1 << 20...1 << 40, \.bufferBytes,
            "memory for requests and answers in transit: bodies that are received, work in the background, answers that wait "
                + "to be sent; while it is short, transfers of less than 64 KiB a second are ended"),
        .integer(
            "limits.queuedWriteBytes", 4096...1 << 40, \.writes.waitingBytes,
            "bytes of writes that wait to be decided, half of them for one caller while others wait; beyond it 503 "
                + "`overloaded`"),
        .integer(
            "limits.commitKeys", 100...1 << 30, \.writes.commitKeys,
            "keys that one write may change; with a schema, keys that its suite may store"),
        .integer("limits.batchWrites", 1...1_000_000, \.writes.batchCount, "writes that share one sync"),
        .integer("limits.batchBytes", 1024...1 << 30, \.writes.batchBytes, "bytes of writes that share one sync"),
    ]

    private static let quotas: [Option] = [
        .integer("quotas.suites", 1...1 << 40, \.writes.quotas.suites, "suites, with settings or without"),
        .integer(
            "quotas.keysPerSuite", 1...1 << 40, \.writes.quotas.keysPerSuite,
            "keys of a suite that have a value or are listed by its schema"),
        .integer(
            "quotas.valueBytes", 1024...1 << 40, \.writes.quotas.valueBytes, "memory that one value may take, about"),
        .integer(
            "quotas.suiteBytes", 4096...1 << 40, \.writes.quotas.suiteBytes,
            "memory that a suite may take with its settings and its schema, about"),
        .integer(
            "quotas.totalBytes", 4096...1 << 40, \.writes.quotas.totalBytes,
            "memory that all suites may take, about; history, buffers and the program come on top"),
    ]

    private static let running: [Option] = [
        .integer(
            "loops", 0...128, \.loopCount,
            "event loops; 0 for one for every other core. As many as cores wake thousands of watchers sooner"),
        .integer("stopSeconds", 0...3600, \.stopBound, "how long connections have at a stop"),
        .word("log", \.logLevel, "the lowest level that is logged")
            .onCommandLine(Log.Level.allCases.map(\.rawValue).joined(separator: "|")).reloaded(),
        .word(
            "accessLog", \.logging.access,
            "a line on standard output for each request: none, in the common or combined log format, or in JSON"
        ).reloaded(),
        .integer(
            "slowRequestMs", 0...3_600_000, \.logging.slowMilliseconds,
            "milliseconds from which on a request is logged as slow, with where the time went; 0 for never"
        ).reloaded(),
    ]

    private static func host(_ text: String, _ name: String) throws(ConfigurationError) -> String {
        guard StringFormat.hostname.accepts(text) else {
            throw ConfigurationError(
                "\(name) is \(JSONValue.string(text).briefPhrase)",
                remedy: "it must be a host name, without a scheme and a port")
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

/// Options that are kept in another form than a file has them.
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
        let now = transport.request
        transport.request = MessageLimits(
            maximumTargetLength: target ?? now.maximumTargetLength, maximumHeadLength: head ?? now.maximumHeadLength,
            maximumFieldCount: fields ?? now.maximumFieldCount, maximumBodyLength: body ?? now.maximumBodyLength)
    }
}
