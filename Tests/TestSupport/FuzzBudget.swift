internal import Foundation

/// How long the random tests go on and where they start.
///
/// `FUZZ_ITERATIONS` sets the number of rounds and `FUZZ_SEED` the seed of the first; each round takes the next seed.
/// To repeat a failure, set `FUZZ_SEED` to the seed in its message.
package enum FuzzBudget {
    package static let iterations = Int(variable("FUZZ_ITERATIONS") ?? "") ?? 2_000
    package static let firstSeed = UInt64(variable("FUZZ_SEED") ?? "") ?? 20_260_101

    /// The generators of all rounds. A test that needs fewer rounds than the budget gives a fraction of it.
    package static func generators(share: Double = 1) -> some Sequence<SeededGenerator> {
        let rounds = max(1, Int(Double(iterations) * share))
        return (0..<UInt64(rounds)).lazy.map { SeededGenerator(seed: firstSeed &+ $0) }
    }

    private static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name]
    }
}
