public import SettingsModel

/// The keys of one store within an adapter's: what `Defaults.player` is.
///
/// A store holds nothing but keys, so where it stands is in its prefix, and the scope needs nothing but its type. Its own
/// members `observe` and `updates` win over keys of these names.
@dynamicMemberLookup
public struct DefaultsScope<Keys: DefaultsKeyStore>: Sendable {
    @usableFromInline let core: AdapterCore

    @usableFromInline
    init(core: AdapterCore) {
        self.core = core
    }
}
