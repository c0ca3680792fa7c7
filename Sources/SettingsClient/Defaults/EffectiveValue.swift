internal import SettingsAPI
internal import SettingsModel

/// The effective value of a key in a program: the first valid value in this order: the value on the command line, the
/// stored value, the registered default, the default of the schema, the default in the declaration of the key. (The
/// daemon knows only the stored value and the default of the schema.) If a value is stored but not valid, the default
/// of the schema is skipped, because the replica gets this default only if no value is stored.
extension DefaultsReference {
    /// Reads the effective value of a key from a setting. The value of the result is nil if the effective value is the
    /// default of the key.
    ///
    /// - Parameters:
    ///   - setting: the setting, with the program's pending writes applied.
    ///   - registered: the registered default.
    func reading(of setting: ReplicaSetting, over registered: JSONValue?) -> Reading<Value> {
        var reading = readingWithoutArgument(of: setting, over: registered)
        reading.value = resolved.argument ?? reading.value
        return reading
    }

    /// Reads the effective value of a key as if there were no value on the command line.
    func readingWithoutArgument(of setting: ReplicaSetting, over registered: JSONValue?) -> Reading<Value> {
        guard case .success(let codec) = resolved.codec else { return Reading() }
        var reading = Reading<Value>(replicaJSON: setting.value)
        if setting.source == .invalid {
            reading.problem = .refused(
                Refusal(.invalidStored, "the stored value of \(name) of suite \(core.suite) does not match the schema"))
            reading.isReplicaValueUnreadable = true
        }
        let isStored = setting.value != nil && setting.source != .default
        // A registered default overrides a default of the schema.
        let layers: [(json: JSONValue?, isFromReplica: Bool)] =
            isStored ? [(setting.value, true), (registered, false)] : [(registered, false), (setting.value, true)]
        for (json, isFromReplica) in layers {
            guard reading.value == nil, let json else { continue }
            do {
                reading.value = try codec.decode(json)
            } catch {
                reading.problem = reading.problem ?? .invalid(error)
                if isFromReplica { reading.isReplicaValueUnreadable = true }
            }
        }
        return reading
    }
}

extension AdapterCore {
    /// Returns the registered default of a key.
    func registeredDefault(_ key: KeyName) -> JSONValue? {
        session.registeredDefaults[key]
    }

    func register(_ defaults: [String: JSONValue]) {
        var values: [KeyName: JSONValue] = [:]
        for (name, value) in defaults {
            do {
                values[try KeyName(name)] = value
            } catch {
                report(.unusableName(error), name, .write)
            }
        }
        session.change(isLocalChange: true) { [values] in $0.register(values) }
        session.announceLocalChanges()
    }
}
