public import SettingsModel

extension Schema {
    /// Creates the schema of a program's keys.
    ///
    ///     let schema = try Schema(of: DefaultsKeys.self) { \.username; \.launchCount; \.player.volume }
    ///     print(schema)
    ///
    /// Throws if a key is not valid, or if two different keys have the same name. `additionalProperties` is the schema
    /// of keys that are not listed. By default, other keys are not allowed. The schema also allows the former names of
    /// the keys with any value, so that values can stay stored under former names until the client moves them.
    public init<Store: DefaultsKeyStore>(
        of store: Store.Type, additionalProperties: JSONValue = false,
        @KeyListBuilder<Store> keys: () -> [ListedKey<Store>]
    ) throws(SchemaError) {
        try self.init(keys: listedKeys(keys(), of: Store()), additionalProperties: additionalProperties)
    }

    /// Creates the schema of all keys in stored properties of a store and of its nested stores.
    ///
    /// Throws in the cases of ``storedKeys(of:)``, if a key is not valid, or if two different keys have the same name.
    /// Use ``init(of:additionalProperties:keys:)`` for keys in computed properties.
    package init(reflecting store: some DefaultsKeyStore, additionalProperties: JSONValue = false) throws(SchemaError) {
        try self.init(keys: storedKeys(of: store), additionalProperties: additionalProperties)
    }

    package init(keys: [any AnyDefaultsKey], additionalProperties: JSONValue = false) throws(SchemaError) {
        var properties = JSONObject()
        // For each name, the index in `keys` of an earlier key with this name.
        var positions: [UTF8Text: Int] = [:]
        var problems: [SchemaError.Problem] = []
        for (index, key) in keys.enumerated() {
            let pointer = JSONPointer(["properties", key.name])
            do {
                let document = JSONValue.object(try key.schemaDocument())
                let known = keys[positions[UTF8Text(key.name)] ?? index].valueType
                if known != key.valueType {
                    let detail = "\(key.name) is defined twice: as \(Self.names(known, key.valueType))"
                    problems.append(SchemaError.Problem(pointer, "properties", detail))
                } else if let other = properties[key.name], other != document {
                    let detail = "\(key.name) is defined twice, with different limits, defaults or other properties"
                    problems.append(SchemaError.Problem(pointer, "properties", detail))
                } else {
                    properties[key.name] = document
                    positions[UTF8Text(key.name)] = index
                }
            } catch {
                let detail = "\(key.name) has a default or an allowed value that cannot be stored: \(error)"
                problems.append(SchemaError.Problem(pointer, "default", detail))
            }
        }
        guard problems.isEmpty else { throw SchemaError(problems: problems) }
        for key in keys {
            for former in key.traits.renamedFrom {
                let detail: JSONValue = .string("Renamed to \(key.name)")
                properties.append(
                    JSONObject.Member(name: former, value: ["description": detail, "deprecated": true]))
            }
        }
        try self.init([
            "$schema": .string(Self.dialect), "type": "object", "additionalProperties": additionalProperties,
            "properties": .object(properties),
        ])
    }

    /// Returns the names of both types. Includes the names of their modules if the types have the same name.
    private static func names(_ first: any DefaultsSerializable.Type, _ second: any DefaultsSerializable.Type) -> String
    {
        let short = (String(describing: first), String(describing: second))
        guard short.0 == short.1 else { return "\(short.0) and as \(short.1)" }
        return "\(String(reflecting: first)) and as \(String(reflecting: second))"
    }
}

/// Returns the keys in stored properties of a store and of its nested stores. Reflection does not find computed
/// properties. Throws if there are no keys, or if a nested store has no prefix or the same prefix as the store that
/// contains it.
package func storedKeys(of store: some DefaultsKeyStore) throws(SchemaError) -> [any AnyDefaultsKey] {
    if let problem = nestedStoreProblem(in: store) {
        throw SchemaError(["properties"], "properties", problem)
    }
    let keys = reflectedKeys(of: store)
    guard keys.isEmpty else { return keys }
    let detail =
        "cannot find the keys of \(type(of: store)): no stored property contains a key, and computed properties cannot be "
        + "searched; list the keys, as in { \\.username }"
    throw SchemaError(["properties"], "properties", detail)
}

private func reflectedKeys(of store: Any) -> [any AnyDefaultsKey] {
    Mirror(reflecting: store).children.flatMap { child -> [any AnyDefaultsKey] in
        if let key = child.value as? any AnyDefaultsKey { return [key] }
        return child.value is any DefaultsKeyStore ? reflectedKeys(of: child.value) : []
    }
}

extension Schema: CustomStringConvertible {
    /// The document as indented JSON.
    public var description: String {
        document.text(style: .pretty)
    }
}

/// A key in the list of keys for a schema. It contains the key path, which is applied to an instance of the store.
public struct ListedKey<Store> {
    private let key: (Store) -> any AnyDefaultsKey
    /// The number of names in the path: `\Keys.player.volume` has two names.
    let depth: Int

    init<Value>(_ path: KeyPath<Store, DefaultsKey<Value>>) {
        key = { $0[keyPath: path] }
        depth = Self.depth(of: path.debugDescription)
    }

    package func key(of store: Store) -> any AnyDefaultsKey {
        key(store)
    }

    /// Counts the components in the description of a path: `\Keys.player.<computed 0x1 (Module.Key)>`.
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

/// A builder that collects keys of a store by their key paths: `\.username`, `\.player.volume`.
@resultBuilder
public enum KeyListBuilder<Store: DefaultsKeyStore> {
    /// One key.
    public static func buildExpression<Value>(_ path: KeyPath<Store, DefaultsKey<Value>>) -> [ListedKey<Store>] {
        [ListedKey(path)]
    }

    /// Several keys.
    public static func buildBlock(_ keys: [ListedKey<Store>]...) -> [ListedKey<Store>] {
        keys.flatMap { $0 }
    }

    /// The keys in an `if` statement without `else`.
    public static func buildOptional(_ keys: [ListedKey<Store>]?) -> [ListedKey<Store>] {
        keys ?? []
    }

    /// The keys in the first branch of an `if` statement.
    public static func buildEither(first keys: [ListedKey<Store>]) -> [ListedKey<Store>] {
        keys
    }

    /// The keys in the second branch of an `if` statement.
    public static func buildEither(second keys: [ListedKey<Store>]) -> [ListedKey<Store>] {
        keys
    }
}
