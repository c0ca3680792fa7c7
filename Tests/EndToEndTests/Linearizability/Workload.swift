import TestSupport

/// Chooses what a client asks for next: reads and writes of every kind on few settings, with tags and values that it has
/// seen, which may be out of date by then.
struct Workload {
    /// What is asked for beside calls about single settings.
    enum Breadth {
        case single
        /// Also whole suites, and transactions over both of them.
        case connected
    }

    private let settings: TestedSettings
    private let breadth: Breadth
    private var generator: SeededGenerator
    private var seen: [Int: Call.Sight] = [:]
    /// Values that nobody else stores.
    private var fresh: Int64

    init(client: Int, seed: UInt64, settings: TestedSettings, breadth: Breadth) {
        self.settings = settings
        self.breadth = breadth
        generator = SeededGenerator(seed: seed &* 1000 &+ UInt64(client))
        fresh = Int64(client + 1) * 1_000_000_000
    }

    /// Remembers what an answer showed.
    mutating func learn(from outcome: Call.Outcome) {
        let sights: [Call.Sight] =
            switch outcome {
            case .shown(let sights), .unchanged(let sights), .refused(_, let sights): sights
            case .committed(_, _, let after): after
            case .unknown: []
            }
        for sight in sights where sight.revision != nil { seen[sight.setting] = sight }
    }

    /// True once in so many calls.
    mutating func chance(oneIn bound: Int) -> Bool {
        generator.chance(oneIn: bound)
    }

    mutating func next() -> Call.Request {
        let setting = generator.below(settings.count)
        if breadth == .connected && generator.chance(oneIn: 4) {
            return generator.chance(oneIn: 3) ? .read(settings.neighbours(of: setting)) : transaction()
        }
        switch generator.below(10) {
        case 0..<4: return .read([setting])
        case 4..<6: return .write(if: [], [step(setting)])
        default: return .write(if: condition(setting).map { [$0] } ?? [], [step(setting)])
        }
    }

    private mutating func step(_ setting: Int) -> Call.Step {
        switch generator.below(10) {
        case 0..<5: Call.Step(setting: setting, action: .set(value()))
        case 5..<9: Call.Step(setting: setting, action: .add(Int64(generator.below(9)) - 4))
        default: Call.Step(setting: setting, action: .remove)
        }
    }

    /// Mostly a value that no other write stores; now and then one that may be there already.
    private mutating func value() -> Int64 {
        if generator.chance(oneIn: 6) { return Int64(generator.below(2)) }
        fresh += 1000
        return fresh
    }

    private mutating func condition(_ setting: Int) -> Call.Condition? {
        switch (generator.below(6), seen[setting]) {
        case (0, _): .isStored(setting, generator.chance(oneIn: 2))
        case (1, let seen?) where seen.value != nil: .hasValue(setting, seen.value ?? 0)
        case (2..., let seen?): .isAt(setting, revision: seen.revision ?? 0)
        default: nil
        }
    }

    private mutating func transaction() -> Call.Request {
        var conditions: [Call.Condition] = []
        if generator.chance(oneIn: 2) {
            for _ in 0...generator.below(2) {
                if let condition = condition(generator.below(settings.count)) { conditions.append(condition) }
            }
        }
        let steps = (0...generator.below(4)).map { _ in step(generator.below(settings.count)) }
        return .write(if: conditions, steps)
    }
}
