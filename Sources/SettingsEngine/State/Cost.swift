package import SettingsAPI
package import SettingsModel

/// An estimate of the processor time and the memory that a piece of work takes.
///
/// The daemon estimates the cost before it does the work. The estimate decides whether the work runs on an event loop
/// (a thread that serves many connections) or in the background, and how much memory the daemon reserves for the work.
/// The estimate itself must be cheap, so every function that estimates a cost stops adding when the cost exceeds a
/// limit.
package struct Cost: Hashable, Sendable {
    /// The processor time on one core, in microseconds, as measured with a release build on one machine.
    package var microseconds: Double
    /// The number of bytes of memory that the work allocates, including its result.
    package var bytes: Int

    package init(microseconds: Double, bytes: Int = 0) {
        self.microseconds = microseconds
        self.bytes = bytes
    }

    package static let zero = Cost(microseconds: 0)
    /// The limit for an estimate that must not stop early.
    package static let unlimited = Cost(microseconds: .infinity, bytes: .max)

    /// True if the time exceeds the time of the limit, or the memory exceeds the memory of the limit.
    package func exceeds(_ limit: Cost) -> Bool { microseconds > limit.microseconds || bytes > limit.bytes }

    package static func + (left: Cost, right: Cost) -> Cost {
        Cost(microseconds: left.microseconds + right.microseconds, bytes: left.bytes + right.bytes)
    }

    package static func += (left: inout Cost, right: Cost) { left = left + right }

    package static func * (count: Int, cost: Cost) -> Cost {
        Cost(microseconds: Double(count) * cost.microseconds, bytes: count * cost.bytes)
    }
}

extension Cost {
    /// The maximum cost of a request that an event loop handles itself. All other connections of the loop wait during
    /// this time, so a background thread handles a more expensive request.
    package static let loopLimit = Cost(microseconds: 1_000, bytes: .max)
}

/// The costs of single operations, as measured with a release build. The time for a JSON value depends on the structure
/// of the value, and deviates from these constants by up to a third.
///
/// The *extent* of a JSON value is the number of values in it, plus one for each eight bytes of text.
extension Cost {
    /// The cost of rendering one unit of extent as JSON.
    package static let renderedUnit = Cost(microseconds: 0.0625, bytes: 8)
    /// The cost of deciding a write (checking the write and computing its commit), for each unit of extent of the
    /// stored value that the write replaces.
    package static let decidedUnit = Cost(microseconds: 0.0625, bytes: 16)
    /// The cost of validating one stored value, or a suite (a named set of settings) as a whole, against its schema. A
    /// read repeats this validation to report the violations, because the daemon does not store them.
    package static let schemaRevalidation = Cost(microseconds: 4_000, bytes: 512 << 10)
    /// The cost of evaluating the schema rules about the suite as a whole, for each key that these rules use.
    package static let suiteRuleKey = 8 * decidedUnit
    /// The cost of comparing one commit with the suites and keys of a watcher (a client that waits for changes),
    /// without the cost for the changes in the commit.
    package static let commitComparison = Cost(microseconds: 0.25)
    /// The cost of examining one commit in the search for the commit that ended a pending action (a revert or a write
    /// at a deadline).
    static let examinedCommit = Cost(microseconds: 0.02)
    /// The cost of comparing one change of a commit with the suites and keys of a watcher.
    package static let changeComparison = Cost(microseconds: 0.125)

    /// The cost of rendering commits that take the given number of bytes in memory.
    package static func rendering(commitBytes bytes: Int) -> Cost {
        Cost(microseconds: Double(bytes) * 0.001, bytes: bytes)
    }

    /// The cost of undoing commits that take the given number of bytes in memory. Undoing the commits on a copy of a
    /// suite gives an earlier state of the suite. The earlier state shares the values of the commits, so the undo
    /// copies no values.
    package static func readingPast(commitBytes bytes: Int) -> Cost {
        Cost(microseconds: Double(bytes) * 0.001, bytes: bytes / 8)
    }

    /// The cost of deciding a write that undoes commits that take the given number of bytes in memory. The decision
    /// compares and copies the values of the commits.
    package static func undoing(commitBytes bytes: Int) -> Cost {
        Cost(microseconds: Double(bytes) * 0.0075, bytes: 2 * bytes)
    }

    /// The cost of rendering one suite in a list of suites.
    package static let listedSuite = 24 * renderedUnit

    /// The cost of rendering the body of an error response.
    package static func rendering(_ problem: Problem, within limit: Cost) -> Cost {
        // Without the minimum, converting an infinite limit to an integer would trap.
        problem.extent(upTo: Int(min(limit.microseconds / renderedUnit.microseconds, 1e12))) * renderedUnit
    }

    /// The cost of rendering a value.
    package static func rendering(_ value: JSONValue?, within limit: Cost) -> Cost {
        var meter = CostMeter(within: limit)
        meter.add(value, each: .renderedUnit)
        return meter.cost
    }
}

/// A sum of costs with a limit. The calling code stops adding when the sum exceeds the limit.
package struct CostMeter {
    package private(set) var cost = Cost.zero
    private let limit: Cost

    package init(within limit: Cost) { self.limit = limit }

    package var isExceeded: Bool { cost.exceeds(limit) }

    package mutating func add(_ cost: Cost) { self.cost += cost }

    /// Adds the cost of a value. Stops visiting the value when the sum exceeds the limit.
    ///
    /// - Parameter unit: the cost of each unit of the value's extent (see the constants of ``Cost``).
    package mutating func add(_ value: JSONValue?, each unit: Cost) {
        guard let value, !isExceeded else { return }
        cost += value.extent(upTo: remainingUnits(each: unit)) * unit
    }

    /// The number of units that can be added before the sum exceeds the limit.
    private func remainingUnits(each unit: Cost) -> Int {
        let byTime = (limit.microseconds - cost.microseconds) / unit.microseconds
        let byMemory = (limit.bytes - cost.bytes) / max(1, unit.bytes)
        // If the limit is infinite, `byTime` is infinite, and its conversion to an integer would trap.
        return min(byTime < 1e12 ? Int(byTime) : 1_000_000_000_000, byMemory)
    }
}
