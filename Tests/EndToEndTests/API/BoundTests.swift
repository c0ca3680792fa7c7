import Foundation
import SettingsModel
import SettingsServer
import SettingsStorage
import TestSupport
import Testing

/// The limits on the number of keys that one write changes or checks. A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct WriteBoundTests {
    /// Sets the limit on the number of keys that one commit may change to 100.
    private static func limitKeys(_ configuration: inout Configuration) {
        configuration.writes.commitKeys = 100
    }

    /// A JSON object with the key `kN` for each number N of the range, and with another key if `otherKey` is not nil.
    private static func map(_ numbers: Range<Int>, and otherKey: String? = nil) -> String {
        let names = numbers.map { "k\($0)" } + [otherKey].compactMap(\.self)
        return "{" + names.map { #""\#($0)":1"# }.joined(separator: ",") + "}"
    }

    /// The body of a transaction that sets `count` keys, and another key if `otherKey` is not nil.
    private static func operations(_ count: Int, and otherKey: String? = nil) -> String {
        let names = (0..<count).map { "k\($0)" } + [otherKey].compactMap(\.self)
        let list = names.map { #"{"op":"set","suite":"app","key":"\#($0)","value":1}"# }
        return #"{"do":[\#(list.joined(separator: ","))]}"#
    }

    /// A schema with `count` defaults, and with the text of further rules.
    private static func schemaWithDefaults(_ count: Int, _ rules: String = "") -> String {
        let list = (0..<count).map { #""k\#($0)":{"default":1}"# }
        return #"{"type":"object","additionalProperties":true,\#(rules)"properties":{\#(list.joined(separator: ","))}}"#
    }

    private static let schemaWithLockedKey = Request(
        #"PUT app/schema {"type":"object","additionalProperties":true,"properties":{"locked":{"readOnly":true}}}"#)

    private static let writesOf150Keys = [Request("PUT app \(map(0..<100))"), Request("PATCH app \(map(100..<150))")]
    private static let schema = #"{"type":"object","additionalProperties":{"type":"integer"}}"#
    private static let limitOf100 = #"{"limit":100}"#

    static let rows: [Row] = [
        Row("PUT of as many keys as the limit", Request("PUT app \(map(0..<100))"), 200, configure: limitKeys),
        Row(
            "PUT of more keys than the limit", Request("PUT app \(map(0..<101))"), 413, .tooLarge, body: limitOf100,
            configure: limitKeys),
        Row(
            "PATCH of more keys than the limit", Request("PATCH app \(map(0..<101))"), 413, .tooLarge, body: limitOf100,
            configure: limitKeys),
        Row(
            "PUT that removes more keys than the limit", given: writesOf150Keys, #"PUT app {"k1":1}"#, 413, .tooLarge,
            body: limitOf100, configure: limitKeys),
        Row(
            "A transaction with more keys than the limit", Request("POST /v1/transaction \(operations(101))"), 413,
            .tooLarge, body: limitOf100, configure: limitKeys),
        Row(
            "DELETE of a prefix with more keys than the limit", given: writesOf150Keys, "DELETE app?prefix=k", 413,
            .tooLarge, body: limitOf100, configure: limitKeys),
        Row(
            // 61 keys begin with `k1`: `k1`, `k10` to `k19` and `k100` to `k149`.
            "DELETE of a prefix with fewer keys than the limit", given: writesOf150Keys, "DELETE app?prefix=k1", 200,
            configure: limitKeys),
        Row(
            // A DELETE of a whole suite makes several commits, but a dry run computes only one commit.
            "A dry run of a drop of a suite with more keys than the limit", given: writesOf150Keys,
            "DELETE app?drop&dryRun", 413, .tooLarge, body: limitOf100, configure: limitKeys),
        Row(
            "A drop of a suite with more keys than the limit, with an old tag", given: writesOf150Keys,
            Request("DELETE app?drop", "If-Match: \"1\""), 412, .preconditionFailed, configure: limitKeys),
        Row(
            "A schema for a suite with more keys than the limit", given: writesOf150Keys,
            Request("PUT app/schema \(schema)"), 413, .tooLarge, body: limitOf100, configure: limitKeys),
        Row(
            "A schema with more defaults than the limit", Request("PUT app/schema \(schemaWithDefaults(101))"), 413,
            .tooLarge, body: limitOf100, configure: limitKeys),
        Row(
            "A schema with as many defaults as the limit", Request("PUT app/schema \(schemaWithDefaults(100))"), 201,
            configure: limitKeys),
        Row(
            "A map with a locked key and more keys than the limit", given: [schemaWithLockedKey],
            Request("PATCH app \(map(0..<101, and: "locked"))"), 403, .locked, configure: limitKeys),
        Row(
            "A transaction with a locked key and more keys than the limit", given: [schemaWithLockedKey],
            Request("POST /v1/transaction \(operations(101, and: "locked"))"), 403, .locked, configure: limitKeys),
        Row(
            "A write of one key of a suite with more keys than the limit", given: writesOf150Keys, "PUT app/keys/k1 2",
            200, configure: limitKeys),
    ]

    @Test(
        "A write that changes more keys than limits.commitKeys returns 413, unless a guard or a lock refuses the write",
        arguments: rows)
    func keys(row: Row) throws {
        try row.check()
    }

    @Test(
        "DELETE of a suite with too many keys for one commit makes several commits, also with a matching If-Match",
        arguments: [(query: "", statusOfLaterRead: 200), (query: "?drop", statusOfLaterRead: 404)])
    func deleted(query: String, statusOfLaterRead: Int) throws {
        let daemon = try TestDaemon(Self.limitKeys)
        for start in [0, 100, 200] { try daemon.sendOK(Request("PATCH app \(Self.map(start..<start + 100))")) }
        try daemon.sendOK("PUT app/keys/last 1")
        let tag = try #require(try daemon.sendOK("GET app").field("ETag"))
        let delete = Request("DELETE app\(query)", "If-Match: \(tag)", "Idempotency-Key: once")
        let answer = try daemon.sendOK(delete)
        #expect(answer.json?["changed"] == true)
        #expect(try daemon.send("GET app?raw&view=stored").status == statusOfLaterRead)
        if statusOfLaterRead == 200 { #expect(try daemon.sendOK("GET app?raw&view=stored").text == "{}") }
        // The history lists the newest commit first. The last commit removes the remaining key of 301.
        let history = try daemon.sendOK("GET app/history").json?["commits"]?.array ?? []
        #expect(history.prefix(4).map { $0["changes"]?.array?.count } == [1, 100, 100, 100])
        let repeated = try daemon.sendOK(delete)
        #expect(repeated.json?["revision"] == answer.json?["revision"] && repeated.json?["replayed"] == true)
    }

    @Test("A write pipelined behind a DELETE of several commits takes effect after the whole DELETE")
    func pipelinedBehindDelete() throws {
        let daemon = try TestDaemon(Self.limitKeys)
        for start in [0, 100, 200] { try daemon.sendOK(Request("PATCH app \(Self.map(start..<start + 100))")) }
        let client = try RawClient(port: daemon.port)
        try client.send(
            "DELETE /v1/suites/app HTTP/1.1\r\nHost: localhost\r\n\r\n"
                + "PUT /v1/suites/app/keys/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n1")
        #expect(try client.readResponse().status == 200)
        #expect(try client.readResponse().status == 201)
        #expect(try daemon.sendOK("GET app?raw&view=stored").text == #"{"x":1}"#)
    }

    @Test("A schema or a write is refused if a keyword that checks all keys would check more keys than its limit")
    func broadRules() throws {
        let daemon = try TestDaemon()
        let rule = #"{"type":"object","additionalProperties":true,"propertyNames":{"maxLength":20}}"#
        let dependency = #"{"type":"object","additionalProperties":true,"dependentRequired":{"k1":["k2"]}}"#
        let maximumKeys = Schema.maximumKeysForAllKeysKeyword
        try daemon.sendOK(Request("PUT app \(Self.map(0..<maximumKeys))"))
        try daemon.sendOK(Request("PUT app/schema \(rule)"))
        let beyond = try daemon.send("PUT app/keys/more 1")
        #expect(beyond.status == 422 && beyond.text.contains("propertyNames"), "\(beyond.text)")
        try daemon.sendOK("PUT app/keys/k1 2")
        try daemon.sendOK("DELETE app/schema")
        try daemon.sendOK("PUT app/keys/more 1")
        let refused = try daemon.send(Request("PUT app/schema \(rule)"))
        #expect(refused.status == 422 && refused.text.contains("propertyNames"), "\(refused.text)")
        // `dependentRequired` names keys, so the number of keys in the suite has no limit. The rule is in force: `k1`
        // requires `k2`.
        try daemon.sendOK(Request("PUT app/schema \(dependency)"))
        try daemon.sendOK("PUT app/keys/another 1")
        #expect(try daemon.send("DELETE app/keys/k2").status == 422)
        let defaults = try daemon.send(
            Request(
                "PUT other/schema \(Self.schemaWithDefaults(maximumKeys + 1, #""propertyNames":{"maxLength":20},"#))"))
        #expect(defaults.status == 422 && defaults.text.contains("propertyNames"), "\(defaults.text)")
    }

    @Test("A propertyNames pattern accepts the maximum number of keys")
    func names() throws {
        let daemon = try TestDaemon()
        let rule = #"{"type":"object","additionalProperties":true,"propertyNames":{"pattern":"^[a-z][a-z0-9._-]*$"}}"#
        let names = (0..<Schema.maximumKeysForAllKeysKeyword - 1).map { #""player.volume.of.channel.\#($0)":1"# }
        try daemon.sendOK(Request("PUT app {\(names.joined(separator: ","))}"))
        try daemon.sendOK(Request("PUT app/schema \(rule)"))
        try daemon.sendOK("PUT app/keys/one.more 1")
    }
}

/// Writes whose values are expensive to validate.
@Suite(.ownThread)
struct CheckingBoundTests {
    /// The pattern is expensive: after each letter, all states of the automaton remain possible.
    private static let schema = #"{"type":"object","additionalProperties":{"pattern":"^(?:a{0,30}){50}b?$"}}"#

    /// A JSON object with `count` texts of `length` letters.
    private static func texts(_ count: Int, _ length: Int) -> String {
        let text = String(repeating: "a", count: length)
        return "{" + (0..<count).map { #""k\#($0)":"\#(text)""# }.joined(separator: ",") + "}"
    }

    @Test("A schema or a write whose validation exceeds the cost limit returns 422")
    func schemas() throws {
        let daemon = try TestDaemon()
        // Each of the 14 levels has two alternatives, so validation tries 2^14 paths, and no path matches.
        let levels = (0..<14).map {
            ##""l\##($0)":{"anyOf":[{"$ref":"#/$defs/l\##($0 + 1)"},{"$ref":"#/$defs/l\##($0 + 1)"}]}"##
        }
        let schema =
            ##"{"type":"object","additionalProperties":{"$ref":"#/$defs/l0"},"##
            + #""$defs":{\#(levels.joined(separator: ",")),"l14":{"type":"integer"}}}"#
        try daemon.sendOK(Request("PUT app \(Self.texts(200, 1))"))
        // An error about the cost limit has the keyword `limit`.
        for query in ["", "?onConflict=keep", "?onConflict=reset"] {
            let refused = try daemon.send(Request("PUT app/schema\(query) \(schema)"))
            #expect(refused.status == 422 && refused.text.contains(#""keyword":"limit""#), "\(refused.text)")
        }
        try daemon.sendOK(Request("PUT app {}"))
        try daemon.sendOK(Request("PUT app/schema \(schema)"))
        let refused = try daemon.send(Request("PATCH app \(Self.texts(200, 1))"))
        #expect(refused.status == 422 && refused.text.contains(#""keyword":"limit""#), "\(refused.text)")
    }

    @Test("A write that is expensive to validate takes effect before later requests of its connection")
    func order() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK(Request("PUT app/schema \(Self.schema)"))
        let client = try daemon.connect()
        let map = Self.texts(8, 60)
        let head = "HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length:"
        try client.send(
            "PATCH /v1/suites/app \(head) \(map.utf8.count)\r\n\r\n\(map)"
                + "PUT /v1/suites/app/keys/k1 \(head) 1\r\n\r\n1"
                + "GET /v1/suites/app/keys/k1?raw HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try client.readResponse().status == 200)
        #expect(try client.readResponse().status == 200)
        #expect(try client.readResponse().text == "1")
    }
}

/// The longest time for which one request may occupy the event loop.
@Suite(.ownThread)
struct LoopBoundTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let given: [Request]
        let request: Request
    }

    /// Rules in which each of 17 levels refers twice to the next level, so that validation follows 2^17 paths. `last`
    /// is the rule at the end of each path.
    private static func levels(_ keyword: String, _ last: String) -> String {
        let levels = (0..<17).map {
            ##""l\##($0)":{"\##(keyword)":[{"$ref":"#/$defs/l\##($0 + 1)"},{"$ref":"#/$defs/l\##($0 + 1)"}]}"##
        }
        return #""$defs":{\#(levels.joined(separator: ",")),"l17":\#(last)}"#
    }
    /// A request that stores a schema with a rule for the whole suite. Every suite satisfies the rule.
    private static let suiteRule = Request(
        ##"PUT app/schema {"type":"object","additionalProperties":true,"$ref":"#/$defs/l0","##
            + levels("allOf", #"{"minProperties":0}"#) + "}")
    /// A request that stores a schema with a rule for each key. Only null satisfies the rule.
    private static let keyRule = Request(
        ##"PUT app/schema?onConflict=keep {"type":"object","additionalProperties":{"$ref":"#/$defs/l0"},"##
            + levels("anyOf", #"{"type":"null"}"#) + "}")

    /// A schema with large definitions, which a listing of keys repeats for each key.
    private static let definitions: Request = {
        let keys = (0..<200).map { ##""k\##($0)":{"$ref":"#/$defs/a","default":1}"## }.joined(separator: ",")
        let texts = (0..<2000).map { #""text \#($0)""# }.joined(separator: ",")
        return Request(
            #"PUT app/schema {"type":"object","additionalProperties":false,"properties":{\#(keys)},"#
                + #""$defs":{"a":{"examples":[\#(texts)]}}}"#)
    }()

    static let cases = [
        Case(testDescription: "A suite with costly rules", given: [suiteRule, "PUT app/keys/k 1"], request: "GET app"),
        Case(
            testDescription: "The state of a suite with costly rules", given: [suiteRule, "PUT app/keys/k 1"],
            request: "GET app/observe"),
        Case(
            testDescription: "A value that violates costly rules", given: ["PUT app/keys/k 1", keyRule],
            request: "GET app/keys/k"),
        Case(
            testDescription: "A suite with a value that violates costly rules", given: ["PUT app/keys/k 1", keyRule],
            request: "GET app"),
        Case(
            testDescription: "A listing that repeats large definitions for each key", given: [definitions],
            request: "GET app/keys?limit=100"),
        Case(
            testDescription: "A merge of costly values", given: [keyRule],
            request: Request("PATCH app {" + (0..<20).map { #""k\#($0)":1"# }.joined(separator: ",") + "}")),
    ]

    /// The maximum processor time, in nanoseconds, of the event loop's thread for one request. The daemon of a test is
    /// not optimized, so the maximum is higher than 20 ms, after which a daemon counts an iteration of its event loop
    /// as slow.
    private static let maximumLoopTime: UInt64 = 125_000_000

    /// The test measures processor time, so that other processes of the machine do not change the result.
    @Test("An expensive request takes the event loop less than 125 ms of processor time", arguments: cases)
    func loopTime(testCase: Case) throws {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/settingsd.json"
        try #"{"loops":1}"#.write(toFile: file, atomically: false, encoding: .utf8)
        let daemon = try TestDaemon(
            ownProcessIn: directory, data: directory.path + "/data", options: ["--config", file])
        let process = try #require(daemon.process)
        for request in testCase.given { try daemon.sendOK(request) }
        let client = try daemon.connect()
        /// Returns the processor time that each thread spends while the closure runs.
        func threadTimes(_ body: () throws -> Void) throws -> [String: UInt64] {
            let before = try process.threadTimes()
            try body()
            let times = try process.threadTimes().map { ($0.key, $0.value - (before[$0.key] ?? 0)) }
            return Dictionary(uniqueKeysWithValues: times)
        }
        // The loop answers cheap requests, so its thread spends the most processor time on them.
        let cheap = try threadTimes {
            for _ in 0..<500 { _ = try client.ask(Request("GET /healthz")) }
        }
        let loop = try #require(cheap.max { $0.value < $1.value }?.key)
        for _ in 0..<3 {
            let times = try threadTimes { _ = try client.ask(testCase.request) }
            let time = try #require(times[loop])
            #expect(time < Self.maximumLoopTime, "\(times)")
        }
    }
}
