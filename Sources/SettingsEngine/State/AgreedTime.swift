package import SettingsAPI

/// The time from which the ages of commits are counted back. A clock that is wrong for less than a day does not change it.
///
/// The time of a commit is agreed once a later commit is a day newer and no commit between both is older. If a clock runs years ahead
/// and is corrected within a day, the history therefore loses no commits. If a clock is set back, the earlier time is agreed at once,
/// which keeps commits for longer.
package struct AgreedTime: Sendable {
    private static let day: Int64 = 86_400_000

    /// Nil until a time is agreed.
    private var agreed: Timestamp?
    /// The time that is agreed once a later commit is a day newer.
    private var candidate: Timestamp?

    package init() {}

    /// Adds the time of the next commit.
    ///
    /// - Parameter age: the maximum age of a commit in milliseconds. If it is less than a day, a time is agreed after this age.
    package mutating func add(_ time: Timestamp, age: Int64) {
        agreed = agreed.map { min($0, time) }
        guard let first = candidate, first <= time else {
            candidate = time
            return
        }
        guard time.milliseconds - first.milliseconds >= min(age, Self.day) else { return }
        (agreed, candidate) = (first, time)
    }

    /// The time in milliseconds before which a commit is too old; nil if no commit is too old.
    package func earliest(age: Int64) -> Int64? {
        guard age < .max, let agreed else { return nil }
        return agreed.milliseconds - age
    }
}
