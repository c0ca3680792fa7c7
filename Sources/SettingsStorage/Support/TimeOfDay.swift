internal import Platform
package import SettingsAPI

extension Timestamp {
    /// The time of day.
    package static func now() -> Timestamp {
        Timestamp(milliseconds: WallClock.milliseconds)
    }
}
