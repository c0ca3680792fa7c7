internal import SettingsKeys
internal import SettingsModel

/// The cached result of reading a key. It is valid until the key changes.
///
/// The class has no type parameter, because the lookup of generic metadata takes longer than the rest of a read.
final class CachedReading: Sendable {
    /// True if `value` is the default of the key, because no other source has a valid value: neither the command line,
    /// nor the suite, nor the registered defaults, nor the schema.
    let isDefault: Bool
    private let value: any DefaultsSerializable
    // The next three properties are copies of the properties of the `Reading` with the same names, which explains them.
    private let replicaJSON: JSONValue?
    private let problem: DefaultsError?
    private let isReplicaValueUnreadable: Bool
    /// The state that all readers of the key share. Each change of the key increments the version of the cell.
    private let cell: KeyCell
    /// The version of the key at the time of the read.
    private let version: UInt64
    /// The object that announces a change of the value to Swift's Observation.
    private let tracker: ValueTracker
    /// The key path with which the value was read; nil if the program read the value without a key path. Retains the
    /// path: another object could otherwise get its address, by which the cache finds this reading.
    private let path: RetainedPath?

    /// - Parameters:
    ///   - defaultValue: the value to cache if the reading has no value.
    ///   - version: the version of the key before the read.
    init<Value>(
        _ reading: Reading<Value>, defaultValue: Value, of cell: KeyCell, version: UInt64, tracker: ValueTracker
    ) {
        isDefault = reading.value == nil
        value = reading.value ?? defaultValue
        replicaJSON = reading.replicaJSON
        problem = reading.problem
        isReplicaValueUnreadable = reading.isReplicaValueUnreadable
        self.cell = cell
        self.version = version
        self.tracker = tracker
        path = nil
    }

    /// Creates the cached reading of a key path from a reading of the same ``ResolvedKey``. Keys that differ only in
    /// their defaults share a resolved key, so the key at the path may have a default that differs from the default in
    /// the reading.
    init<Value: DefaultsSerializable>(_ reading: CachedReading, by path: AnyKeyPath, defaultValue: Value) {
        isDefault = reading.isDefault
        value = reading.isDefault ? defaultValue : reading.value
        replicaJSON = reading.replicaJSON
        problem = reading.problem
        isReplicaValueUnreadable = reading.isReplicaValueUnreadable
        cell = reading.cell
        version = reading.version
        tracker = reading.tracker
        self.path = RetainedPath(path: path)
    }

    /// False if the key has changed since it was read.
    var isValid: Bool { cell.version == version }

    /// Registers a read of the key with Swift's Observation.
    func registerRead() { tracker.registerRead() }

    /// Returns the value. The type must be the type with which the key was read.
    func value<Value: DefaultsSerializable>(as _: Value.Type) -> Value {
        value.cast(to: Value.self)
    }

    func reading<Value: DefaultsSerializable>(as _: Value.Type) -> Reading<Value> {
        Reading(
            value: isDefault ? nil : value(as: Value.self), replicaJSON: replicaJSON, problem: problem,
            isReplicaValueUnreadable: isReplicaValueUnreadable)
    }
}

/// A retained key path. It may be unchecked Sendable because it is never evaluated.
struct RetainedPath: @unchecked Sendable {
    let path: AnyKeyPath
}

extension DefaultsSerializable {
    /// Casts a value to its own type. The cast in this generic method only compares two types, so it is faster than a
    /// cast of an existential value.
    fileprivate func cast<Value>(to _: Value.Type) -> Value {
        // swift-format-ignore: NeverForceUnwrap
        self as! Value
    }
}
