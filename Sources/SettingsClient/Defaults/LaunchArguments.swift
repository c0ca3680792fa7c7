internal import SettingsModel

/// Settings from the command line: they lie over what is stored, and last as long as the program.
///
/// `-key value` and `-key=value` give text that the key's type reads; `--set key=JSON` gives JSON. A value that begins with
/// a hyphen is one only if it is a number, or after `=`. The last of several for one key holds.
struct LaunchArguments: Sendable {
    /// What was given for a key.
    enum Given: Hashable, Sendable {
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

    /// What was given for a key, in the forms that it may be read in, the likeliest first.
    func forms(of key: String) -> [JSONValue] {
        switch values[UTF8Text(key)] {
        case nil: []
        case .json(let value): [value]
        case .text(let text): Self.forms(of: text)
        }
    }

    private static func forms(of text: String) -> [JSONValue] {
        var forms: [JSONValue] = [.string(text)]
        if let truth = UntypedConversion.truth(of: text) { forms.append(.bool(truth)) }
        if let integer = Int64(text) { forms.append(.integer(integer)) }
        if let double = Double(text), double.isFinite { forms.append(.double(double)) }
        if let json = try? JSONValue(parsing: text), !forms.contains(json) { forms.append(json) }
        return forms
    }
}
