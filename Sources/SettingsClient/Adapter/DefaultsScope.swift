public import SettingsModel

/// The keys of one store within an adapter's: what `Defaults.player` is.
///
/// A store holds nothing but keys, so where it stands is in its prefix, and the scope needs nothing but its type.
@dynamicMemberLookup
public struct DefaultsScope<KeyStore: DefaultsKeyStore>: KeyedAccess {
    @usableFromInline let core: AdapterCore

    @usableFromInline
    init(core: AdapterCore) {
        self.core = core
    }

    /// What the settings are reached through.
    @inlinable
    public static func core(of access: DefaultsScope) -> AdapterCore {
        access.core
    }
}
