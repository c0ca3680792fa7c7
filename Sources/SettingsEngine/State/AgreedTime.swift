package import SettingsAPI

/// An estimate of the present time, from which the daemon computes the ages of commits. The daemon does not compute the
/// ages from the system clock, because a clock that runs ahead would make recent commits look old.
///
/// The time of the first commit is the candidate. If a following commit has an earlier time, its time becomes the
/// candidate. If the time of a following commit is at least a day after the candidate, the candidate becomes the agreed
/// time, and the time of this commit becomes the new candidate. If the clock jumps years ahead, the time of the jump is
/// therefore only the candidate. If the clock is corrected within a day, the history in memory evicts (removes) no
/// commits because of the jump. If the clock is set back, the agreed time goes back too, so the history keeps commits
/// longer.
package struct AgreedTime: Sendable {
    /// A day in milliseconds.
    private static let day: Int64 = 86_400_000

    /// The agreed time; nil if there is none yet.
    private var agreed: Timestamp?
    /// The time of an earlier commit. It becomes the agreed time when a commit follows that is at least a day later.
    private var candidate: Timestamp?

    package init() {}

    /// Adds the time of the next commit.
    ///
    /// - Parameter maximumAge: the maximum age of a commit in milliseconds. A maximum age of less than a day replaces
    ///   the day in the rule of ``AgreedTime``, because the history would otherwise keep commits up to a day too long.
    package mutating func add(_ time: Timestamp, maximumAge: Int64) {
        agreed = agreed.map { min($0, time) }
        guard let earlier = candidate, earlier <= time else {
            candidate = time
            return
        }
        guard time.milliseconds - earlier.milliseconds >= min(maximumAge, Self.day) else { return }
        (agreed, candidate) = (earlier, time)
    }

    /// The time in milliseconds before which commits exceed the maximum age; nil if no commit exceeds the maximum age.
    package func earliest(maximumAge: Int64) -> Int64? {
        guard maximumAge < .max, let agreed else { return nil }
        return agreed.milliseconds - maximumAge
    }
}
