public import SettingsClient

/// `DefaultsObservation` with its name in the library SwiftyUserDefaults.
public typealias DefaultsDisposable = DefaultsObservation

extension DefaultsObservation {
    /// Ends observing, as `cancel()` does.
    public func dispose() {
        cancel()
    }
}
