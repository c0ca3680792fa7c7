public import SettingsModel

/// The keys of one store within an adapter's: what `Defaults.player` is.
///
/// It has what the adapter has for keys, and hides the same names (``AdapterMembers/names``).
@dynamicMemberLookup
public struct DefaultsScope<KeyStore: DefaultsKeyStore>: KeyedAccess {
    @usableFromInline let keeper: CoreKeeper
    /// Kept by the core.
    @usableFromInline let place: Unmanaged<StorePlace<KeyStore>>

    @inlinable
    init(keeper: CoreKeeper, place: Unmanaged<StorePlace<KeyStore>>) {
        self.keeper = keeper
        self.place = place
    }

    /// What the settings are reached through.
    @inlinable
    public static func core(of access: DefaultsScope) -> AdapterCore {
        access.keeper.core
    }

    /// The store in its place within the adapter's.
    @inlinable
    public static func place(of access: DefaultsScope) -> Unmanaged<StorePlace<KeyStore>> {
        access.place
    }

    /// The keys of a store within this one.
    public subscript<Inner: DefaultsKeyStore>(dynamicMember path: KeyPath<KeyStore, Inner>) -> DefaultsScope<Inner> {
        @inlinable get { DefaultsScope<Inner>(keeper: keeper, place: keeper.core.place(path, in: place)) }
    }
}

/// What a scope keeps a core by.
///
/// An adapter has one for each place that threads have (``ThreadPlace``): a scope is made for a single read and counts as
/// a reference to what it keeps. If all were counted in one place, threads that read would wait for each other there.
@usableFromInline
final class CoreKeeper: Sendable {
    @usableFromInline let core: AdapterCore
    /// Keeps the counts apart.
    private let space = InlineArray<14, Int>(repeating: 0)

    init(_ core: AdapterCore) {
        self.core = core
    }
}
