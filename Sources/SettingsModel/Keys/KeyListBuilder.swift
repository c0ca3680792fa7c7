/// A key of a store by its path, to be taken from an instance of the store.
public struct ListedKey<Store> {
    private let key: (Store) -> any AnyDefaultsKey
    /// How many names the path has, as `\Keys.player.volume` has two.
    let depth: Int

    init<Value>(_ path: KeyPath<Store, DefaultsKey<Value>>) {
        key = { $0[keyPath: path] }
        depth = Self.depth(of: path.debugDescription)
    }

    /// The key as an instance has it.
    package func key(of store: Store) -> any AnyDefaultsKey {
        key(store)
    }

    /// The components of a path, which has them in its description only: `\Keys.player.<computed 0x1 (Module.Key)>`.
    private static func depth(of path: String) -> Int {
        var (depth, nesting) = (0, 0)
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "<"), UInt8(ascii: "("), UInt8(ascii: "["): nesting += 1
            case UInt8(ascii: ">"), UInt8(ascii: ")"), UInt8(ascii: "]"): nesting -= 1
            case UInt8(ascii: ".") where nesting == 0: depth += 1
            default: break
            }
        }
        return depth
    }
}

/// Collects keys of a store, each named by its key path: `\.username`, `\.player.volume`.
@resultBuilder
public enum KeyListBuilder<Store: DefaultsKeyStore> {
    /// One key.
    public static func buildExpression<Value>(_ path: KeyPath<Store, DefaultsKey<Value>>) -> [ListedKey<Store>] {
        [ListedKey(path)]
    }

    /// Several, one after the other.
    public static func buildBlock(_ keys: [ListedKey<Store>]...) -> [ListedKey<Store>] {
        keys.flatMap { $0 }
    }

    /// Keys under a condition.
    public static func buildOptional(_ keys: [ListedKey<Store>]?) -> [ListedKey<Store>] {
        keys ?? []
    }

    /// One choice of keys.
    public static func buildEither(first keys: [ListedKey<Store>]) -> [ListedKey<Store>] {
        keys
    }

    /// The other choice of keys.
    public static func buildEither(second keys: [ListedKey<Store>]) -> [ListedKey<Store>] {
        keys
    }
}
