package import SettingsAPI

/// A time that the ages of commits are counted back from, which no clock moves that is wrong for less than a day.
///
/// A commit's time counts once a commit has followed that is a day later, and none in between was earlier. A clock that is
/// years ahead takes no history with it, if it is put right within that day. A clock that is set back counts at once: that
/// keeps commits for longer.
package struct AgreedTime: Sendable {
    private static let day: Int64 = 86_400_000

    /// Nil until a time counts.
    private var agreed: Timestamp?
    /// The time that counts once a commit follows that is a day later.
    private var candidate: Timestamp?

    package init() {}

    /// Adds the time of the next commit.
    ///
    /// - Parameter age: how many milliseconds a commit is kept. If that is less than a day, so much has to pass.
    package mutating func add(_ time: Timestamp, age: Int64) {
        agreed = agreed.map { min($0, time) }
        guard let first = candidate, first <= time else {
            candidate = time
            return
        }
        guard time.milliseconds - first.milliseconds >= min(age, Self.day) else { return }
        (agreed, candidate) = (first, time)
    }

    /// The time, in milliseconds, before which a commit is too old; nil if none is.
    package func earliest(age: Int64) -> Int64? {
        guard age < .max, let agreed else { return nil }
        return agreed.milliseconds - age
    }
}
