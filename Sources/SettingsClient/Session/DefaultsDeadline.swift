public import Foundation
internal import SettingsAPI
internal import SettingsHTTP

/// The time at which the daemon reverts a change, or makes a change.
///
///     try await Defaults.set(\.volume, 0.8, .confirm(within: .seconds(120)))
///     try await Defaults.set(\.volume, 0.1, .until(.seconds(7200)))
///     try await Defaults.set(\.volume, 0.1, .effective(tonight, until: tomorrow))
///
/// The daemon stores the deadline, so it reverts or makes the change even if the program has ended. A deadline is at
/// most 400 days away. A duration is rounded up to whole seconds.
public struct DefaultsDeadline: Hashable, Sendable {
    let confirm: PendingTime?
    let until: PendingTime?
    let effective: PendingTime?

    private init(confirm: PendingTime? = nil, until: PendingTime? = nil, effective: PendingTime? = nil) {
        (self.confirm, self.until, self.effective) = (confirm, until, effective)
    }

    /// The change takes effect now. The daemon reverts the change unless the change is confirmed within this time,
    /// which is one second to one day.
    public static func confirm(within duration: Duration) -> DefaultsDeadline {
        DefaultsDeadline(confirm: PendingTime(duration))
    }

    /// The change takes effect now. The daemon reverts the change at this time, by the clock of the daemon.
    public static func until(_ date: Date) -> DefaultsDeadline {
        DefaultsDeadline(until: .at(Timestamp(date)))
    }

    /// The change takes effect now. The daemon reverts the change after this time.
    public static func until(_ duration: Duration) -> DefaultsDeadline {
        DefaultsDeadline(until: PendingTime(duration))
    }

    /// The daemon checks the change against the schema now, and makes the change at a later time, by the clock of the
    /// daemon. At that time, the daemon checks the change again, and drops a change that the schema no longer allows.
    ///
    /// - Parameters:
    ///   - start: the time at which the daemon makes the change.
    ///   - end: the time at which the daemon reverts the change. Nil for a change that stays.
    public static func effective(_ start: Date, until end: Date? = nil) -> DefaultsDeadline {
        DefaultsDeadline(until: end.map { .at(Timestamp($0)) }, effective: .at(Timestamp(start)))
    }
}

extension PendingTime {
    init(_ duration: Duration) {
        // `bounded` limits the duration to 68 years, so that the multiplication cannot overflow.
        self = .after(milliseconds: duration.bounded.wholeSeconds * 1000)
    }
}
