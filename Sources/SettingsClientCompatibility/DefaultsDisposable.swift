public import SettingsClient

/// `DefaultsObservation` under the name that SwiftyUserDefaults has for it.
public typealias DefaultsDisposable = DefaultsObservation

extension DefaultsObservation {
    /// Ends observing, as `cancel()` does.
    public func dispose() {
        cancel()
    }
}
