import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport

/// Generates commits by deciding random writes.
struct RandomCommits {
    var random: SeededGenerator
    var suites = ["app", "editor", "net"]
    /// The time of the system clock in milliseconds. The clock may go backwards, also because a test sets the clock
    /// back.
    var clock: Int64 = 1_760_000_000_000

    /// True if some commits create, extend and end pending actions.
    let hasDeadlines: Bool

    init(seed: UInt64, hasDeadlines: Bool = true) {
        self.hasDeadlines = hasDeadlines
        random = SeededGenerator(seed: seed)
    }

    /// Returns true with a probability in percent.
    mutating func chance(percent: Int) -> Bool {
        random.below(100) < percent
    }

    /// Makes the next commit on a state.
    mutating func next(on state: State, revision: Revision) throws -> Commit {
        clock += Int64.random(in: -500...1500, using: &random)
        while true {
            var request = WriteRequest(try command(revision))
            if chance(percent: 20) {
                request.requestKey = RequestKey("request \(revision)")
                // No request key occurs twice, so the digests of two requests are never compared.
                request.digest = "digest"
            }
            if chance(percent: 30) {
                let by = random.pick([nil, "user:alice", "token:deployment"])
                request.origin = CommitOrigin(by: by, note: chance(percent: 50) ? "because of \(revision)" : nil)
            }
            if hasDeadlines, chance(percent: 15) { request.deadlines = deadlines() }
            if hasDeadlines, chance(percent: 25), let entry = state.pending.byDeadline.first {
                let id = entry.action.id
                request.task =
                    chance(percent: 50)
                    ? .carryOut(id, deadline: entry.action.deadline)
                    : .pending(id, random.pick([.confirm, .revert, .cancel, .extend(.after(milliseconds: 500_000))]))
                // A request about a pending action cannot have deadlines itself.
                request.deadlines = nil
            }
            // A commit has at least the time of the last commit, unless the clock was set back by more than a minute.
            let isFarBehind = state.time.milliseconds - clock > 60_000
            let time = isFarBehind ? Timestamp(milliseconds: clock) : max(state.time, Timestamp(milliseconds: clock))
            let decision = try? state.decide(request, revision: revision, time: time)
            // A write that is refused or that changes nothing makes no commit, so another write follows.
            if let commit = decision?.commit { return commit }
        }
    }

    /// Makes deadlines. The daemon reverts the change if no confirmation arrives within the time `confirm`, or at the
    /// time `until`. The daemon makes the change only at the time `effective`.
    private mutating func deadlines() -> WriteRequest.Deadlines {
        let until = chance(percent: 50) ? PendingTime.after(milliseconds: Int64(1 + random.below(1_000_000))) : nil
        if chance(percent: 40) {
            let effective = PendingTime.after(milliseconds: Int64(1 + random.below(1_000_000)))
            return WriteRequest.Deadlines(confirm: nil, until: until, effective: effective)
        }
        return WriteRequest.Deadlines(confirm: until == nil ? 60_000 : nil, until: until, effective: nil)
    }

    private mutating func command(_ revision: Revision) throws -> WriteCommand {
        let suite = try SuiteName(random.pick(suites))
        switch random.below(20) {
        case 0: return .dropSuite(suite)
        case 1, 2:
            let schema = try Schema([
                "type": "object", "additionalProperties": true,
                "properties": ["key0": ["default": .integer(revision.number)], "key1": ["type": "string"]],
            ])
            return .setSchema(suite, schema, onConflict: .keep)
        case 3: return .removeSchema(suite)
        default:
            let operations = try (0...random.below(3)).map { _ in
                let number = random.below(8)
                // One key has characters that take two bytes in UTF-8 or an escape in JSON.
                let key = try KeyName(number == 7 ? "schlüssel \"7\"" : "key\(number)")
                return Transaction.Operation(suite: suite, key: key, chance(percent: 30) ? .delete : .set(value()))
            }
            return .transaction(Transaction(do: operations))
        }
    }

    private mutating func value() -> JSONValue {
        switch random.below(6) {
        case 0: .null
        case 1: .bool(Bool.random(using: &random))
        case 2: .integer(Int64.random(in: .min ... .max, using: &random))
        case 3: .double(Double.random(in: -1e9...1e9, using: &random))
        case 4: .string(String(repeating: "ä\n\u{0}\"", count: random.below(40)))
        default: ["list": [1, 2.5, "three"], "n": .integer(Int64(random.below(9)))]
        }
    }
}
