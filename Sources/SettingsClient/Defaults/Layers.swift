internal import SettingsAPI
internal import SettingsModel

/// The settings on the command line: they lie over what is stored, and last as long as the program.
///
/// `-key value` and `-key=value` give text that the key's type reads; `--set key=JSON` gives JSON. A value that begins with
/// a hyphen is one only if it is a number, or after `=`. The last of several for one key holds.
package struct LaunchArguments: Sendable {
    /// A value on the command line.
    enum Given: Equatable, Sendable {
        case text(String)
        case json(JSONValue)
    }

    private var values: [UTF8Text: Given] = [:]

    /// Reads the arguments after the program's name.
    init(_ arguments: some Sequence<String>) {
        var rest = arguments.makeIterator()
        var next = rest.next()
        while let argument = next {
            next = rest.next()
            if argument == "--" { return }
            if argument == "--set" {
                guard let assignment = next else { return }
                next = rest.next()
                let (key, json) = Self.parted(assignment)
                if let value = json.flatMap({ try? JSONValue(parsing: $0) }) { values[UTF8Text(key)] = .json(value) }
            } else if argument.hasPrefix("-"), !argument.hasPrefix("--"), argument != "-" {
                let (key, value) = Self.parted(String(argument.dropFirst()))
                if let value {
                    values[UTF8Text(key)] = .text(value)
                } else if let value = next, Self.isValue(value) {
                    next = rest.next()
                    values[UTF8Text(key)] = .text(value)
                }
            }
        }
    }

    private static func parted(_ text: String) -> (key: String, value: String?) {
        guard let equals = text.firstIndex(of: "=") else { return (text, nil) }
        return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }

    private static func isValue(_ text: String) -> Bool {
        !text.hasPrefix("-") || Double(text) != nil
    }

    /// The value given for a key in the forms that it may be read in, the likeliest first.
    func forms(of key: String) -> [JSONValue] {
        switch values[UTF8Text(key)] {
        case nil: []
        case .json(let value): [value]
        case .text(let text): Self.forms(of: text)
        }
    }

    /// The argument that gives a value for a key, as it stands on the command line.
    func spelling(of key: String, hidesValue: Bool) -> String {
        switch values[UTF8Text(key)] {
        case nil: "-\(key)"
        case .text(let text): "-\(key) \(hidesValue ? "…" : text)"
        case .json(let value): "--set \(key)=\(hidesValue ? "…" : value.description)"
        }
    }

    private static func forms(of text: String) -> [JSONValue] {
        var forms: [JSONValue] = [.string(text)]
        if let truth = truth(of: text) { forms.append(.bool(truth)) }
        if let integer = Int64(text) { forms.append(.integer(integer)) }
        if let double = Double(text), double.isFinite { forms.append(.double(double)) }
        if let json = try? JSONValue(parsing: text), !forms.contains(json) { forms.append(json) }
        return forms
    }

    /// The words for true and false, in any case.
    package static func truth(of text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "t", "yes", "y", "1": true
        case "false", "f", "no", "n", "0": false
        default: nil
        }
    }
}

/// The layers over and under what is stored.
extension DefaultsReference {
    /// Reads a key from its layers: the command line, the stored value, the registered one, the schema's default.
    func resolve(_ visible: VisibleSetting, over registered: JSONValue?) -> Reading<Value> {
        var reading = resolveWithoutArgument(visible, over: registered)
        reading.value = resolved.argument ?? reading.value
        return reading
    }

    /// Reads a key from its layers but the command line.
    func resolveWithoutArgument(_ visible: VisibleSetting, over registered: JSONValue?) -> Reading<Value> {
        guard case .success(let codec) = resolved.codec else { return Reading() }
        var reading = Reading<Value>(base: visible.value)
        if visible.source == .invalid {
            reading.problem = .refused(
                Refusal(.invalidStored, "what is stored for \(name) of suite \(core.suite) does not fit the schema"))
            reading.isStoredUnreadable = true
        }
        let isStored = visible.value != nil && visible.source != .default
        let layers =
            isStored ? [(visible.value, true), (registered, false)] : [(registered, false), (visible.value, true)]
        for (layer, isOfServer) in layers {
            guard reading.value == nil, let layer else { continue }
            do {
                reading.value = try codec.decode(layer)
            } catch {
                reading.problem = reading.problem ?? .invalid(error)
                if isOfServer { reading.isStoredUnreadable = true }
            }
        }
        return reading
    }
}

extension AdapterCore {
    /// The registered default of a key.
    func registered(_ key: KeyName) -> JSONValue? {
        session.registered[key]
    }

    /// Lays values under what is stored.
    func register(_ defaults: [String: JSONValue]) {
        var values: [KeyName: JSONValue] = [:]
        for (name, value) in defaults {
            do {
                values[try KeyName(name)] = value
            } catch {
                report(.unusableName(error), name, .write)
            }
        }
        session.change(isOwnChange: true) { [values] in $0.register(values) }
        session.announceOwnChanges()
    }
}
