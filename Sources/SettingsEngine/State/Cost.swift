package import SettingsAPI
package import SettingsModel

/// An estimate of what a piece of work takes: processor time, and memory while the work is done.
///
/// The estimate decides where work is done, and whether there is memory for it. It is made before the work, so it must be cheap: every function that
/// estimates takes a limit, and stops counting once the limit is exceeded.
package struct Cost: Hashable, Sendable {
    /// Processor time on one core, in microseconds, in a release build on the machine of the measurements.
    package var microseconds: Double
    /// Bytes of memory that the work allocates, including its result.
    package var bytes: Int

    package init(microseconds: Double, bytes: Int = 0) {
        self.microseconds = microseconds
        self.bytes = bytes
    }

    package static let zero = Cost(microseconds: 0)
    /// No limit: the whole estimate is made.
    package static let unlimited = Cost(microseconds: .infinity, bytes: .max)

    /// True if the time or the memory is more than that of the limit.
    package func exceeds(_ limit: Cost) -> Bool {
        microseconds > limit.microseconds || bytes > limit.bytes
    }

    package static func + (left: Cost, right: Cost) -> Cost {
        Cost(microseconds: left.microseconds + right.microseconds, bytes: left.bytes + right.bytes)
    }

    package static func += (left: inout Cost, right: Cost) { left = left + right }

    package static func * (count: Int, cost: Cost) -> Cost {
        Cost(microseconds: Double(count) * cost.microseconds, bytes: count * cost.bytes)
    }
}

/// The limits.
extension Cost {
    /// The most time that an event loop may spend on one request: all other connections of the loop wait meanwhile.
    package static let loopLimit = Cost(microseconds: 1_000, bytes: .max)
}

/// The costs of single steps. The times were measured with a release build; values of other shapes take up to a third more or less.
extension Cost {
    /// One unit of extent (a value, or eight bytes of text) that is rendered as JSON.
    package static let renderedUnit = Cost(microseconds: 0.0625, bytes: 8)
    /// One unit of extent of a stored value that a write replaces or changes.
    package static let decidedUnit = Cost(microseconds: 0.0625, bytes: 16)
    /// A stored value, or a suite as a whole, that is checked against its schema again when it is shown.
    package static let repeatedCheck = Cost(microseconds: 4_000, bytes: 512 << 10)
    /// A key whose value or absence a rule about the whole suite is evaluated with.
    package static let keyOfSuiteRule = 8 * decidedUnit
    /// A commit that is compared with what a watcher observes.
    package static let comparedCommit = Cost(microseconds: 0.25)
    /// A change of such a commit, which is compared with every key and prefix that the watcher observes.
    package static let comparedChange = Cost(microseconds: 0.125)

    /// Rendering commits whose size in memory is known.
    package static func rendering(commitBytes bytes: Int) -> Cost {
        Cost(microseconds: Double(bytes) * 0.001, bytes: bytes)
    }

    /// Undoing commits, to show what was before them: the values of the past are shared with the commits.
    package static func showingPast(commitBytes bytes: Int) -> Cost {
        Cost(microseconds: Double(bytes) * 0.001, bytes: bytes / 8)
    }

    /// Deciding a write that undoes commits: the values of the past are compared with the present values, and copied into a new commit.
    package static func undoing(commitBytes bytes: Int) -> Cost {
        Cost(microseconds: Double(bytes) * 0.0075, bytes: 2 * bytes)
    }

    /// A suite in a list of suites.
    package static let listedSuite = 24 * renderedUnit

    /// Rendering the body of an error.
    package static func rendering(_ problem: Problem, within limit: Cost) -> Cost {
        problem.extent(upTo: Int(min(limit.microseconds / renderedUnit.microseconds, 1e12))) * renderedUnit
    }

    /// Rendering a value.
    package static func rendering(_ value: JSONValue?, within limit: Cost) -> Cost {
        var meter = CostMeter(within: limit)
        meter.add(value, each: .renderedUnit)
        return meter.cost
    }
}

/// Adds up the cost of a piece of work until the cost exceeds a limit.
package struct CostMeter {
    package private(set) var cost = Cost.zero
    private let limit: Cost

    package init(within limit: Cost) {
        self.limit = limit
    }

    package var isExceeded: Bool { cost.exceeds(limit) }

    package mutating func add(_ cost: Cost) {
        self.cost += cost
    }

    /// Adds the cost of a value. Visits only as much of the value as is needed to exceed the limit.
    ///
    /// - Parameter unit: the cost of each unit of the value's extent.
    package mutating func add(_ value: JSONValue?, each unit: Cost) {
        guard let value, !isExceeded else { return }
        cost += value.extent(upTo: units(within: limit, each: unit)) * unit
    }

    /// The number of units that the limit leaves room for.
    private func units(within limit: Cost, each unit: Cost) -> Int {
        let byTime = (limit.microseconds - cost.microseconds) / unit.microseconds
        let byMemory = (limit.bytes - cost.bytes) / max(1, unit.bytes)
        // An estimate that has no limit of time must not overflow.
        return min(byTime < 1e12 ? Int(byTime) : 1_000_000_000_000, byMemory)
    }
}
