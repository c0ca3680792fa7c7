/// How long to wait before the next attempt, after some that failed.
///
/// Longer each time, and by chance a different time for everybody: those whom one daemon lost come back one by one.
package struct BackOff: Sendable {
    package static let shortest = Duration.milliseconds(100)
    package static let longest = Duration.seconds(2)
    /// Nobody is obeyed for ever: who asks for a pause may be a proxy that knows nothing of the daemon behind it.
    package static let longestAsked = Duration.seconds(60)

    private(set) var failures = 0

    package init() {}

    /// Something worked: the next failure is the first again.
    package mutating func reset() {
        failures = 0
    }

    /// The pause that somebody asks for, as far as it is obeyed.
    package static func asked(milliseconds: Int64?) -> Duration {
        min(.milliseconds(max(0, milliseconds ?? 0)), longestAsked)
    }

    /// How long to wait after one more failure. If somebody said when to come back, no less than that.
    package mutating func next(
        notBefore asked: Duration = .zero, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let whole = min(Self.longest, Self.shortest * (1 << min(failures, 10)))
        failures += 1
        let share = Double.random(in: 0.5...1, using: &generator)
        // What the daemon asks for it asks of everybody, so that goes apart too.
        return max(whole * share, asked * (share + 0.5))
    }
}
