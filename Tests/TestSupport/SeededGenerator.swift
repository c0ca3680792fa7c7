internal import Foundation

/// A SplitMix64 generator, which returns the same numbers for the same seed on every machine, so that a failure can be
/// repeated.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    /// The seed, which every failure message must contain.
    package let seed: UInt64
    private var state: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to but not including the bound.
    package mutating func below(_ bound: Int) -> Int {
        Int.random(in: 0..<bound, using: &self)
    }

    /// Returns true with the probability 1 / `bound`.
    package mutating func chance(oneIn bound: Int) -> Bool {
        below(bound) == 0
    }

    /// A random element. The array must not be empty.
    package mutating func pick<Element>(_ choices: [Element]) -> Element {
        choices[below(choices.count)]
    }
}

/// The number of rounds and the seeds of the randomized tests, and the share of the cases of exhaustive tests.
///
/// `FUZZ_ITERATIONS` sets the number of rounds (1,000 if it is not set), and `FUZZ_SEED` sets the seed of the first
/// round. Each round uses the next seed. To repeat a failure, set `FUZZ_SEED` to the seed in its message.
package enum FuzzBudget {
    package static let iterations = Int(number("FUZZ_ITERATIONS", 1...UInt64(Int32.max)) ?? 1_000)
    private static let chosenSeed = number("FUZZ_SEED", 0 ... .max)
    /// Without `FUZZ_SEED`, an arbitrary number.
    package static let firstSeed = chosenSeed ?? 20_260_101

    /// A generator for each round. The number of rounds is `roundsFactor` times `iterations`, and at least 1.
    package static func generators(roundsFactor: Double = 1) -> some Sequence<SeededGenerator> {
        let rounds = max(1, Int(Double(iterations) * roundsFactor))
        return (0..<UInt64(rounds)).lazy.map { SeededGenerator(seed: firstSeed &+ $0) }
    }

    /// The seeds for a test that uses different seeds in each run, unless `FUZZ_SEED` is set. The number of seeds is
    /// `roundsFactor` times `iterations`, and at least 1.
    package static func randomSeeds(roundsFactor: Double) -> [UInt64] {
        let first = chosenSeed ?? .random(in: 0...UInt64(UInt32.max))
        return (0..<UInt64(max(1, Double(iterations) * roundsFactor))).map { first &+ $0 }
    }

    /// True if an exhaustive test runs the case with this number. With more than 500 iterations, the test runs all
    /// cases, and with 500 iterations every second case.
    package static func includes(case number: Int) -> Bool {
        number.isMultiple(of: max(1, 1_000 / iterations))
    }

    /// The number in an environment variable; nil if the variable is not set. Ends the process if the value is not an
    /// allowed number, because a test that used the default seed would not repeat the failure.
    private static func number(_ name: String, _ allowed: ClosedRange<UInt64>) -> UInt64? {
        guard let text = ProcessInfo.processInfo.environment[name] else { return nil }
        guard let number = UInt64(text), allowed.contains(number) else {
            fatalError("\(name)=\(text) is not a valid number")
        }
        return number
    }
}
