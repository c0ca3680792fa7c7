import SettingsModel
import TestSupport

/// The suites and keys that a storm is about, and random writes of all kinds to them.
struct StormWrites {
    static let suites = ["app", "net", "ui.theme"]
    /// Among them names that need encoding, beginnings of others, and two spellings of é.
    static let keys = ["a", "ab", "b", "count", "n.1", "n.2", "n.\u{e9}", "n.e\u{301}", "p/q", "p/q r"]
    static let prefixes = ["n.", "a", "p/", "", "n.e", "zz"]
    /// A suite that is written to seldom, but much at a time.
    static let bulk = "bulk"
    /// A suite that is hardly ever written to.
    static let quiet = "quiet"

    /// Schemas that agree with what is stored now and then.
    private static let schemas = [
        #"{"type":"object","additionalProperties":{},"properties":{"#
            + #""count":{"type":"integer","default":0,"minimum":-3},"n.1":{"type":"integer","default":7}}}"#,
        #"{"type":"object","additionalProperties":{"type":["integer","string"]},"properties":{"#
            + #""a":{"default":1},"n.2":{"type":"string","default":"two"}}}"#,
        #"{"type":"object","additionalProperties":false,"properties":{"a":{"default":"x"},"count":{"type":"integer"},"#
            + #""b":{"enum":[1,2,"x"],"default":2}},"patternProperties":{"^n\\.":{"type":"integer"}}}"#,
    ]

    var random: SeededGenerator
    /// Whether there is much of what is large.
    private let isGlutted: Bool

    init(_ random: SeededGenerator, isGlutted: Bool) {
        self.random = random
        self.isGlutted = isGlutted
    }

    mutating func next() -> Request {
        if isGlutted, random.chance(oneIn: 6) { return bulk() }
        let suite = random.pick(Self.suites)
        switch random.below(100) {
        case 0..<42: return Request("PUT \(key(of: suite)) \(value())")
        case 42..<52: return Request("DELETE \(key(of: suite))")
        case 52..<60:
            return Request("PATCH \(suite)/keys/count \(#"{"op":"add","by":"#)\(random.below(5) - 2)}")
        case 60..<76: return transaction()
        case 76..<81: return Request("PATCH \(suite) \(map(value: { $0.chance(oneIn: 3) ? "null" : nil }))")
        case 81..<84: return Request("PUT \(suite) \(map())")
        case 84..<87:
            let prefix = random.pick(Self.prefixes.filter { !$0.isEmpty })
            return Request("DELETE \(suite)?prefix=\(prefix.inTarget)")
        case 87..<88: return Request("DELETE \(suite)?drop=true")
        case 88..<90: return Request("DELETE \(suite)")
        case 90..<95:
            let policy = random.pick(["", "?onConflict=keep", "?onConflict=reset"])
            return Request("PUT \(suite)/schema\(policy) \(random.pick(Self.schemas))")
        case 95..<97: return Request("DELETE \(suite)/schema")
        case 97..<98: return bulk()
        case 98..<99 where random.chance(oneIn: 4): return Request("PUT \(key(of: Self.quiet)) \(value())")
        default: return Request("PUT \(key(of: suite))?dryRun=true \(value())")
        }
    }

    private mutating func key(of suite: String) -> String {
        "\(suite)/keys/\(random.pick(Self.keys).inTarget)"
    }

    private mutating func value() -> String {
        random.pick([
            "0", "1", "2", "-7", "0.5", #""x""#, #""two""#, "null", "true", #"{"m":1}"#, #"{"m":{"n":[1,2]}}"#, "[]",
            "\(random.below(1_000_000))",
        ])
    }

    private mutating func map(value given: (inout SeededGenerator) -> String? = { _ in nil }) -> String {
        var members: [String: String] = [:]
        for _ in 0..<random.below(5) { members[random.pick(Self.keys)] = given(&random) ?? value() }
        // Not in a dictionary's order, so that a seed repeats it.
        let sorted = members.sorted { UTF8Text($0.key) < UTF8Text($1.key) }
        return "{" + sorted.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    private mutating func transaction() -> Request {
        let operations = (0..<(1 + random.below(6))).map { _ in
            let place = "\"suite\":\"\(random.pick(Self.suites))\",\"key\":"
            switch random.below(6) {
            case 0: return "{\"op\":\"delete\",\(place)\"\(random.pick(Self.keys))\"}"
            case 1: return "{\"op\":\"add\",\(place)\"count\",\"by\":1}"
            default: return "{\"op\":\"set\",\(place)\"\(random.pick(Self.keys))\",\"value\":\(value())}"
            }
        }
        return Request("POST /v1/transaction {\"do\":[\(operations.joined(separator: ","))]}")
    }

    private mutating func bulk() -> Request {
        guard !random.chance(oneIn: 6) else {
            return Request("DELETE \(Self.bulk)\(random.pick(["", "?drop=true", "?prefix=k1"]))")
        }
        let number = random.below(1000)
        if isGlutted {
            let text = String(repeating: "x", count: 40_000)
            let members = (0..<(1 + random.below(8))).map { "\"k\($0)\":\"\(text)\(number)\"" }
            return Request("PATCH \(Self.bulk) {\(members.joined(separator: ","))}")
        }
        let members = (0..<(50 + random.below(400))).map { "\"k\($0)\":\(number)" }
        return Request("PATCH \(Self.bulk) {\(members.joined(separator: ","))}")
    }
}
