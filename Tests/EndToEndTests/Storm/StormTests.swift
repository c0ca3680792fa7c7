import TestSupport
import Testing

@Suite(.ownThread, .serialized)
struct StormTests {
    /// How long a storm lasts, in seconds. `scripts/storm` reckons with that.
    private static let length = 4.0
    /// How long one in some lasts, so that long waits end and quiet streams are kept alive.
    private static let (longLength, oneIn) = (40.0, 10)

    @Test(
        "Whatever is written, and however they and the daemon come and go, watchers are told all of it, once and in order"
    )
    func storm() async throws {
        var tally: [String: Int] = [:]
        for (number, random) in FuzzBudget.generators(share: 0.001).enumerated() {
            let isLong = number % Self.oneIn == Self.oneIn - 1
            let outcome = try await Storm(seed: random.seed, seconds: isLong ? Self.longLength : Self.length).run()
            for fault in outcome.faults.prefix(5) { Issue.record("\(fault)") }
            tally.merge(outcome.tally, uniquingKeysWith: +)
            if !outcome.faults.isEmpty { break }
        }
        print(tally.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
        #expect(tally["events", default: 0] > 0 && tally["answers with changes", default: 0] > 0)
    }
}
