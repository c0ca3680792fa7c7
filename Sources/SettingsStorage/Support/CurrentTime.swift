internal import Platform
package import SettingsAPI

extension Timestamp {
    /// The current time of the system clock.
    package static func now() -> Timestamp { Timestamp(milliseconds: WallClock.milliseconds) }
}
