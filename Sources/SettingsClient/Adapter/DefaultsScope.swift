public import SettingsModel

/// The keys of one store within an adapter's: what `Defaults.player` is.
///
/// A store holds nothing but keys, so where it stands is in its prefix, and the scope needs nothing but its type. Its own
/// members `observe` and `updates` win over keys of these names.
@dynamicMemberLookup
public struct DefaultsScope<KeyStore: DefaultsKeyStore>: KeyedAccess {
    @usableFromInline let keeper: CoreKeeper

    @inlinable
    init(keeper: CoreKeeper) {
        self.keeper = keeper
    }

    /// What the settings are reached through.
    @inlinable
    public static func core(of access: DefaultsScope) -> AdapterCore {
        access.keeper.core
    }

    /// The keys of a store within this one.
    public subscript<Inner: DefaultsKeyStore>(dynamicMember path: KeyPath<KeyStore, Inner>) -> DefaultsScope<Inner> {
        @inlinable get { DefaultsScope<Inner>(keeper: keeper) }
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
