internal import SettingsKeys
internal import SettingsModel

/// The settings on the command line. They override stored values while the program runs.
///
/// `-key value` and `-key=value` set text, which is converted to the type of the key. `--set key=JSON` sets JSON. A
/// value after `-key` may begin with a hyphen only if the value is a number. If several arguments name a key, the last
/// of these arguments applies. The arguments after `--` are ignored.
package struct LaunchArguments: Sendable {
    enum Argument: Equatable, Sendable {
        case text(String)
        case json(JSONValue)
        /// The text after the equals sign of `--set key=text`, which is not JSON. Nil for `--set key`.
        case notJSON(String?)
    }

    private var values: [UTF8Text: Argument] = [:]

    /// Parses the arguments, which do not contain the program's name.
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
                let value = json.flatMap { try? JSONValue(parsing: $0) }
                values[UTF8Text(key)] = value.map { .json($0) } ?? .notJSON(json)
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

    /// Returns the JSON values that the argument for a key may mean, in the order in which readers try these values.
    /// Returns an empty array if there is no argument for the key.
    func candidates(for key: String) -> [JSONValue] {
        switch values[UTF8Text(key)] {
        case nil, .notJSON: []
        case .json(let value): [value]
        case .text(let text): Self.candidates(from: text)
        }
    }

    /// Returns the problem of an argument `--set` without JSON. Returns nil if the argument for the key is another
    /// argument, or if there is no argument for the key.
    func syntaxProblem(of key: String) -> InvalidValue? {
        guard case .notJSON = values[UTF8Text(key)] else { return nil }
        let detail = "must be JSON, in which text has quotation marks"
        return InvalidValue(key: key, violations: [Violation(keyword: "format", detail: detail)])
    }

    /// Returns the argument for a key in the form `-key value` or `--set key=JSON`, for messages.
    func spelling(of key: String, hidesValue: Bool) -> String {
        switch values[UTF8Text(key)] {
        case nil: "-\(key)"
        case .text(let text): "-\(key) \(hidesValue ? "…" : text)"
        case .json(let value): "--set \(key)=\(hidesValue ? "…" : value.description)"
        case .notJSON(let text): "--set \(key)\(text.map { "=\(hidesValue ? "…" : $0)" } ?? "")"
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

    /// Returns the boolean that a word such as `yes` means, in upper or lower case. Returns nil for other words.
    package static func truth(of text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "t", "yes", "y", "1": true
        case "false", "f", "no", "n", "0": false
        default: nil
        }
    }
}
