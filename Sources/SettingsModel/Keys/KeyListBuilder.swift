/// Collects keys of a store, each named by its key path: `\.username`, `\.player.volume`.
@resultBuilder
public enum KeyListBuilder<Store: DefaultsKeyStore> {
    /// One key.
    public static func buildExpression<Value>(_ path: KeyPath<Store, DefaultsKey<Value>>) -> [any AnyDefaultsKey] {
        [Store()[keyPath: path]]
    }

    /// Several, one after the other.
    public static func buildBlock(_ keys: [any AnyDefaultsKey]...) -> [any AnyDefaultsKey] {
        keys.flatMap { $0 }
    }

    /// Keys under a condition.
    public static func buildOptional(_ keys: [any AnyDefaultsKey]?) -> [any AnyDefaultsKey] {
        keys ?? []
    }

    /// One choice of keys.
    public static func buildEither(first keys: [any AnyDefaultsKey]) -> [any AnyDefaultsKey] {
        keys
    }

    /// The other choice of keys.
    public static func buildEither(second keys: [any AnyDefaultsKey]) -> [any AnyDefaultsKey] {
        keys
    }
}
