internal import SettingsAPI
internal import SettingsModel

/// The settings on the command line. They override stored values while the program runs.
///
/// `-key value` and `-key=value` set text, which is converted to the type of the key. `--set key=JSON` sets JSON. The
/// argument after `-key` may begin with a hyphen only if it is a number. If several
/// arguments name a key, the last argument applies.
package struct LaunchArguments: Sendable {
    enum Argument: Equatable, Sendable {
        case text(String)
        case json(JSONValue)
    }

    private var values: [UTF8Text: Argument] = [:]

    /// Parses the arguments. They do not contain the program's name.
    init(_ arguments: some Sequence<String>) {
        var rest = arguments.makeIterator()
        var next = rest.next()
        while let argument = next {
            next = rest.next()
            if argument == "--" { return }
            if argument == "--set" {
                guard let assignment = next else { return }
                next = rest.next()
                let (key, json) = Self.splitAtEquals(assignment)
                if let value = json.flatMap({ try? JSONValue(parsing: $0) }) { values[UTF8Text(key)] = .json(value) }
            } else if argument.hasPrefix("-"), !argument.hasPrefix("--"), argument != "-" {
                let (key, value) = Self.splitAtEquals(String(argument.dropFirst()))
                if let value {
                    values[UTF8Text(key)] = .text(value)
                } else if let value = next, Self.isValue(value) {
                    next = rest.next()
                    values[UTF8Text(key)] = .text(value)
                }
            }
        }
    }

    private static func splitAtEquals(_ text: String) -> (key: String, value: String?) {
        guard let equals = text.firstIndex(of: "=") else { return (text, nil) }
        return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }

    private static func isValue(_ text: String) -> Bool {
        !text.hasPrefix("-") || Double(text) != nil
    }

    /// The JSON values that the argument for a key may mean, in the order in which the codec of the key tries them.
    /// Empty if there is no argument for the key.
    func candidates(for key: String) -> [JSONValue] {
        switch values[UTF8Text(key)] {
        case nil: []
        case .json(let value): [value]
        case .text(let text): Self.candidates(from: text)
        }
    }

    /// The argument for a key as the user typed it.
    func spelling(of key: String, hidesValue: Bool) -> String {
        switch values[UTF8Text(key)] {
        case nil: "-\(key)"
        case .text(let text): "-\(key) \(hidesValue ? "…" : text)"
        case .json(let value): "--set \(key)=\(hidesValue ? "…" : value.description)"
        }
    }

    private static func candidates(from text: String) -> [JSONValue] {
        var candidates: [JSONValue] = [.string(text)]
        if let truth = truth(of: text) { candidates.append(.bool(truth)) }
        if let integer = Int64(text) { candidates.append(.integer(integer)) }
        if let double = Double(text), double.isFinite { candidates.append(.double(double)) }
        if let json = try? JSONValue(parsing: text), !candidates.contains(json) { candidates.append(json) }
        return candidates
    }

    /// Returns the boolean that a word means, in upper or lower case. Returns nil for other words.
    package static func truth(of text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "t", "yes", "y", "1": true
        case "false", "f", "no", "n", "0": false
        default: nil
        }
    }
}

/// The effective value of a key. It comes from the first of these sources that has a valid value: the command line, the
/// stored value, the registered default, the default of the schema, the default of the key.
extension DefaultsReference {
    /// Reads a key. The value of the result is nil if the effective value is the default of the key.
    ///
    /// - Parameters:
    ///   - setting: the setting in the replica, with the program's pending writes applied.
    ///   - registered: the registered default.
    func resolve(_ setting: ReplicaSetting, over registered: JSONValue?) -> Reading<Value> {
        var reading = resolveWithoutArgument(setting, over: registered)
        reading.value = resolved.argument ?? reading.value
        return reading
    }

    func resolveWithoutArgument(_ setting: ReplicaSetting, over registered: JSONValue?) -> Reading<Value> {
        guard case .success(let codec) = resolved.codec else { return Reading() }
        var reading = Reading<Value>(replicaJSON: setting.value)
        if setting.source == .invalid {
            reading.problem = .refused(
                Refusal(.invalidStored, "the stored value of \(name) of suite \(core.suite) does not match the schema"))
            reading.isReplicaValueUnreadable = true
        }
        let isStored = setting.value != nil && setting.source != .default
        // A registered default overrides a default of the schema.
        let layers =
            isStored ? [(setting.value, true), (registered, false)] : [(registered, false), (setting.value, true)]
        for (layer, isOfReplica) in layers {
            guard reading.value == nil, let layer else { continue }
            do {
                reading.value = try codec.decode(layer)
            } catch {
                reading.problem = reading.problem ?? .invalid(error)
                if isOfReplica { reading.isReplicaValueUnreadable = true }
            }
        }
        return reading
    }
}

extension AdapterCore {
    func registered(_ key: KeyName) -> JSONValue? {
        session.registered[key]
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
