import SettingsAPI
import SettingsModel
import TestSupport

/// The answer to one write.
struct StormAnswer: Sendable {
    /// The method and the target of the write.
    let request: String
    /// The number of restarts of the daemon before the answer.
    let life: Int
    /// The time of the answer in nanoseconds of a monotonic clock.
    let at: UInt64
    /// The idempotency key of the write and its retries.
    let requestKey: String?
    let content: Content

    enum Content: Sendable {
        case setting(SettingState)
        case summary(WriteSummary)
        /// The daemon refused the write with this status, and stored nothing.
        case refused(Int)
        /// An answer that no correct daemon sends.
        case unexpected(String)
    }

    /// The revision of the reported commit; nil if the write made no commit.
    var revision: Revision? {
        switch content {
        case .setting(let setting): setting.changed == true && !setting.isDryRun ? setting.revision : nil
        case .summary(let summary): summary.changed && !summary.isDryRun ? summary.revision : nil
        case .refused, .unexpected: nil
        }
    }
}

/// A client in a `Storm`, a test that kills the daemon while clients write and watch. The client sends one write after
/// another. It retries a write with an idempotency key after a lost answer or an answer with the status 503.
final class StormWriter {
    private let number: Int
    private let storm: Storm
    private var writes: StormWrites
    private var answers: [StormAnswer] = []
    private var connection: (client: RawClient, life: Int)?

    init(_ number: Int, in storm: Storm, _ random: SeededGenerator) {
        self.number = number
        self.storm = storm
        writes = StormWrites(random, hasLargeWrites: storm.hasLargeWrites)
    }

    func run() throws -> [StormAnswer] {
        var count = 0
        while !storm.isPastEnd {
            count += 1
            var request = writes.next()
            let key = writes.random.chance(oneIn: 2) ? "writer-\(number)-\(count)" : nil
            if let key { request.fields.append("Idempotency-Key: \(key)") }
            try perform(request, key)
        }
        return answers
    }

    private func perform(_ request: Request, _ key: String?) throws {
        for _ in 0..<20 {
            let (client, life) = try connection ?? storm.lives.connectToLife(for: number)
            connection = (client, life)
            do {
                let answer = try client.ask(request)
                if answer.field("Connection") == "close" { connection = nil }
                // A stopping daemon refuses new writes.
                if answer.status == 503, key != nil { continue }
                let content = Self.read(answer)
                answers.append(
                    StormAnswer(
                        request: "\(request.method) \(request.target)", life: life, at: HistoryClient.now,
                        requestKey: key, content: content))
                if answers.last?.revision != nil { storm.progress.countCommit() }
                return
            } catch RawClient.Failure.timeout {
                throw RawClient.Failure.timeout
            } catch is RawClient.Failure {
                connection = nil
                if key == nil { return }
            }
        }
    }

    private static func read(_ answer: RawResponse) -> StormAnswer.Content {
        guard answer.status < 300 else {
            // The refusals that a random write can get.
            return [404, 409, 422, 503].contains(answer.status)
                ? .refused(answer.status) : .unexpected("\(answer.status) \(answer.text)")
        }
        do {
            let json = try JSONValue(parsing: answer.body)
            return json["changes"] == nil
                ? .setting(try SettingState(json: json)) : .summary(try WriteSummary(json: json))
        } catch {
            return .unexpected("\(error) in \(answer.text)")
        }
    }
}

extension StormRecord {
    /// The faults in the answers to writers.
    func faults(in answers: [StormAnswer]) -> [String] {
        var keys: [String: [Revision]] = [:]
        for commit in journal.commits {
            if let key = commit.requestKey { keys[key.text, default: []].append(commit.revision) }
        }
        var faults: [String] = []
        for (key, revisions) in keys where revisions.count > 1 {
            // If the history has evicted a commit of a write, a retry of the write makes another commit.
            guard zip(revisions, revisions.dropFirst()).contains(where: { !mayBeEvicted($0, at: $1) }) else { continue }
            faults.append("the write with the idempotency key \(key) took effect at \(revisions)")
        }
        for answer in answers {
            if case .unexpected(let text) = answer.content { faults.append("\(answer.request): \(text)") }
            guard let revision = answer.revision else { continue }
            guard let commit = journal[revision] else {
                faults.append("\(answer.request) was acknowledged as \(revision), which the journal does not contain")
                continue
            }
            if commit.requestKey?.text != answer.requestKey {
                faults.append("the commit \(revision) does not have the idempotency key of its request")
            }
            if !answer.describes(commit) { faults.append("\(answer) does not describe \(commit)") }
        }
        return faults
    }
}

extension StormAnswer {
    /// True if the answer describes the commit.
    fileprivate func describes(_ commit: Commit) -> Bool {
        // An answer lacks the record, which has the members that only the journal has.
        let changes = commit.changes.map { change in
            var change = change
            change.record = Change.Record()
            return change
        }
        switch content {
        case .setting(let setting):
            guard let change = changes.first, changes.count == 1 else { return false }
            return setting.key == change.key && setting.suite == change.suite && setting.value == change.new
                && setting.source == change.source && setting.previous?.value == change.old
                && setting.previous?.source == change.oldSource
        case .summary(let summary): return summary.changes == changes
        case .refused, .unexpected: return true
        }
    }
}

/// The suites and keys of a storm, and random writes of all kinds.
struct StormWrites {
    static let suites = ["app", "net", "ui.theme"]
    /// The keys include names that need percent-encoding, prefixes of other names, and both Unicode forms of é.
    static let keys = ["a", "ab", "b", "count", "n.1", "n.2", "n.\u{e9}", "n.e\u{301}", "p/q", "p/q r"]
    static let prefixes = ["n.", "a", "p/", "", "n.e", "zz"]
    /// A suite with rare but large writes.
    static let bulk = "bulk"
    /// A suite with very rare writes.
    static let quiet = "quiet"

    /// Schemas that sometimes allow the stored values.
    private static let schemas = [
        #"{"type":"object","additionalProperties":{},"properties":{"#
            + #""count":{"type":"integer","default":0,"minimum":-3},"n.1":{"type":"integer","default":7}}}"#,
        #"{"type":"object","additionalProperties":{"type":["integer","string"]},"properties":{"#
            + #""a":{"default":1},"n.2":{"type":"string","default":"two"}}}"#,
        #"{"type":"object","additionalProperties":false,"properties":{"a":{"default":"x"},"count":{"type":"integer"},"#
            + #""b":{"enum":[1,2,"x"],"default":2}},"patternProperties":{"^n\\.":{"type":"integer"}}}"#,
    ]

    var random: SeededGenerator
    /// True if many writes are large.
    private let hasLargeWrites: Bool

    init(_ random: SeededGenerator, hasLargeWrites: Bool) {
        self.random = random
        self.hasLargeWrites = hasLargeWrites
    }

    mutating func next() -> Request {
        if hasLargeWrites, random.chance(oneIn: 6) { return bulk() }
        let suite = random.pick(Self.suites)
        switch random.below(100) {
        case 0..<42: return Request("PUT \(randomTarget(in: suite)) \(value())")
        case 42..<52: return Request("DELETE \(randomTarget(in: suite))")
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
        case 98..<99 where random.chance(oneIn: 4): return Request("PUT \(randomTarget(in: Self.quiet)) \(value())")
        default: return Request("PUT \(randomTarget(in: suite))?dryRun=true \(value())")
        }
    }

    /// The target of a request for a random key.
    private mutating func randomTarget(in suite: String) -> String {
        "\(suite)/keys/\(random.pick(Self.keys).inTarget)"
    }

    private mutating func value() -> String {
        random.pick([
            "0", "1", "2", "-7", "0.5", #""x""#, #""two""#, "null", "true", #"{"m":1}"#, #"{"m":{"n":[1,2]}}"#, "[]",
            "\(random.below(1_000_000))",
        ])
    }

    /// A JSON object with random keys. `given` returns the value of a member; nil stands for a random value.
    private mutating func map(value given: (inout SeededGenerator) -> String? = { _ in nil }) -> String {
        var members: [String: String] = [:]
        for _ in 0..<random.below(5) { members[random.pick(Self.keys)] = given(&random) ?? value() }
        // The members are sorted, so that a seed always produces the same request.
        let sorted = members.sorted { UTF8Text($0.key) < UTF8Text($1.key) }
        return "{" + sorted.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    private mutating func transaction() -> Request {
        let operations = (0..<(1 + random.below(6))).map { _ in
            let address = "\"suite\":\"\(random.pick(Self.suites))\",\"key\":"
            switch random.below(6) {
            case 0: return "{\"op\":\"delete\",\(address)\"\(random.pick(Self.keys))\"}"
            case 1: return "{\"op\":\"add\",\(address)\"count\",\"by\":1}"
            default: return "{\"op\":\"set\",\(address)\"\(random.pick(Self.keys))\",\"value\":\(value())}"
            }
        }
        return Request("POST /v1/transaction {\"do\":[\(operations.joined(separator: ","))]}")
    }

    private mutating func bulk() -> Request {
        guard !random.chance(oneIn: 6) else {
            return Request("DELETE \(Self.bulk)\(random.pick(["", "?drop=true", "?prefix=k1"]))")
        }
        let number = random.below(1000)
        if hasLargeWrites {
            let text = String(repeating: "x", count: 40_000)
            let members = (0..<(1 + random.below(8))).map { "\"k\($0)\":\"\(text)\(number)\"" }
            return Request("PATCH \(Self.bulk) {\(members.joined(separator: ","))}")
        }
        let members = (0..<(50 + random.below(400))).map { "\"k\($0)\":\(number)" }
        return Request("PATCH \(Self.bulk) {\(members.joined(separator: ","))}")
    }
}
