internal import HTTPWire
internal import SettingsModel

/// Every option that a configuration file may hold. Reading, writing, checking and suggesting go by this table alone.
extension ConfigurationMember {
    static let all: [ConfigurationMember] = places + storage + callers + limits + running

    private static let places: [ConfigurationMember] = [
        .list(
            "listen", 1...64, of: "addresses", orOne: "an address", \.listen,
            read: { text, place throws(ConfigurationError) in
                do throws(ListenError) {
                    return try ListenAddress(text)
                } catch {
                    throw ConfigurationError("\(place): \(error)", remedy: "write it like \(error.example)")
                }
            }, write: \.description),
        ConfigurationMember(path: ["socketMode"]) { json, configuration throws(ConfigurationError) in
            let digits = json.string.map { Array($0.utf8) } ?? []
            guard (3...4).contains(digits.count), digits.count == 3 || digits[0] == UInt8(ascii: "0"),
                let mode = UInt32(String(decoding: digits, as: UTF8.self), radix: 8)
            else {
                throw ConfigurationError(
                    "socketMode is \(json.briefPhrase)",
                    remedy: "it must be three octal digits in a string, as \"0660\" for the owner and the group")
            }
            configuration.socketMode = mode
        } write: { configuration in
            .string("0" + String(configuration.socketMode + 0o1000, radix: 8).dropFirst())
        },
        ConfigurationMember(path: ["data"]) { json, configuration throws(ConfigurationError) in
            switch json {
            case .null: configuration.data = nil
            case .string(let path): configuration.data = try DataLocation.path(path, called: "data")
            default:
                throw ConfigurationError(
                    "data is \(json.briefPhrase)", remedy: "it must be a path, or null for the usual place")
            }
        } write: { configuration in
            configuration.data.map { .string($0) } ?? .null
        },
    ]

    private static let storage: [ConfigurationMember] = [
        .word("durability", \.durability),
        .integer("syncIntervalMilliseconds", 1...3_600_000, \.syncInterval),
        .integer("snapshot.journalBytes", 1024...1 << 40, \.snapshotJournalBytes),
        .integer("snapshot.intervalSeconds", 1...604_800, \.snapshotInterval),
        .integer("history.commits", 1...16_777_216, \.history.commits),
        .integer("history.bytes", 4096...1 << 40, \.history.bytes),
        .integer("history.suiteCommits", 0...16_777_216, \.history.suiteCommits),
        .integer("history.suiteBytes", 0...1 << 40, \.history.suiteBytes),
    ]

    private static let callers: [ConfigurationMember] = [
        .list("hosts", 0...1024, of: "names", \.hosts, read: host, write: { $0 }),
        .list("origins", 0...1024, of: "origins", \.origins, read: origin, write: { $0 }),
        .flag("openSuites", \.writes.opensSuites),
    ]

    private static let limits: [ConfigurationMember] = [
        .integer("limits.connections", 1...1_000_000, \.transport.connections),
        .integer("limits.watchers", 0...1_000_000, \.watchers.total),
        .integer("limits.watchersPerAddress", 0...1_000_000, \.watchers.perAddress),
        .integer("limits.targetBytes", 128...1 << 20, \.targetBytes),
        .integer("limits.headBytes", 256...1 << 20, \.headBytes),
        .integer("limits.headFields", 8...4096, \.headFields),
        .integer("limits.bodyBytes", 1024...1 << 30, \.bodyBytes),
        .seconds("limits.headSeconds", 1...3600, \.transport.headTime),
        .seconds("limits.bodySeconds", 1...3600, \.transport.bodyTime),
        .integer("limits.bodyProgressBytes", 1...1 << 30, \.transport.bodyProgress),
        .seconds("limits.idleSeconds", 1...86_400, \.transport.idleTime),
        .seconds("limits.unreadSeconds", 1...3600, \.transport.unreadTime),
        .integer("limits.unsentBytes", 1024...1 << 30, \.transport.unsentBytes),
        .integer("limits.owedAnswers", 1...65_536, \.transport.owedAnswers),
        .seconds("limits.lingerSeconds", 0...60, \.transport.lingerTime),
        .integer("limits.lingerBytes", 0...1 << 30, \.transport.lingerBytes),
        .integer("limits.waitingWriteBytes", 4096...1 << 40, \.writes.waitingBytes),
        .integer("limits.batchWrites", 1...1_000_000, \.writes.batchCount),
        .integer("limits.batchBytes", 1024...1 << 30, \.writes.batchBytes),
    ]

    private static let running: [ConfigurationMember] = [
        .integer("loops", 0...1024, \.loopCount),
        .integer("stopSeconds", 0...3600, \.stopBound),
        .word("log", \.logLevel),
    ]

    private static func host(_ text: String, _ place: String) throws(ConfigurationError) -> String {
        guard StringFormat.hostname.accepts(text) else {
            throw ConfigurationError(
                "\(place) is \(JSONValue.string(text).briefPhrase)",
                remedy: "it must be a host name, without a scheme and a port")
        }
        return text
    }

    private static func origin(_ text: String, _ place: String) throws(ConfigurationError) -> String {
        let authority = ["http://", "https://"].first { text.lowercased().hasBytePrefix($0) }
            .map { text.utf8.dropFirst($0.utf8.count) }
        let isOrigin = authority.map { rest in
            !rest.isEmpty && rest.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/?#@\\".utf8.contains($0) }
        }
        guard isOrigin == true else {
            throw ConfigurationError(
                "\(place) is \(JSONValue.string(text).briefPhrase)",
                remedy: "it must be an origin such as https://console.example.com, without a path")
        }
        return text
    }
}

/// Options that are kept in another form than they are written in.
extension Configuration {
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
        transport.request = RequestLimits(
            maximumTargetLength: target ?? now.maximumTargetLength, maximumHeadLength: head ?? now.maximumHeadLength,
            maximumFieldCount: fields ?? now.maximumFieldCount, maximumBodyLength: body ?? now.maximumBodyLength)
    }
}
