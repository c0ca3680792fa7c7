internal import SettingsModel

/// What there is of a key at one moment in the layers that change. The command line and the key's own default do not.
struct ObservedSetting: Hashable, Sendable {
    let key: KeyName
    var visible: VisibleSetting
    /// What is registered under it.
    var registered: JSONValue?

    /// Whether it matters where the value comes from, and that was not told: what is registered lies over a default of
    /// the schema and under what is stored.
    var lacksSource: Bool {
        registered != nil && visible.source == nil
    }
}
