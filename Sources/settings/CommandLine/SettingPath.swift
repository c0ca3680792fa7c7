import SettingsAPI
import SettingsHTTP
import SettingsModel

/// A setting, or a part of its value, as a word of the command line names it: `theme`, `servers[0].port`.
///
/// The key ends at the first `[`, so that a key may have dots. Each step into the value is in brackets; after a
/// bracket, a member may also follow a dot. A name in quotation marks is a JSON string, which may contain any
/// character. A key that contains `[` or `=` is written `["a[b"]`.
struct SettingPath: CustomStringConvertible {
    let key: KeyName
    /// The location of the part in the value; the root for the whole value.
    let pointer: JSONPointer
    /// The path as the command line has it.
    let description: String

    /// True for the whole value of the key.
    var isWhole: Bool { pointer == .root }

    /// Reads a word that is a path.
    init(_ word: String) throws(ToolError) {
        let (path, value) = try Self.split(word)
        guard value == nil else {
            throw .usage(
                "'\(Terminal.escaped(word))' has a value, but the command takes keys; write \(Terminal.escaped(Self.quoted(word))) for a key with this "
                    + "name")
        }
        self = path
    }

    /// Reads a word that is a path, or a path with `=` and a value.
    static func split(_ word: String) throws(ToolError) -> (path: SettingPath, value: String?) {
        let (path, rest) = try split(word, before: ["="])
        return (path, rest.isEmpty ? nil : String(rest.dropFirst()))
    }

    /// Reads a word that is a path, or a path with an operator and a value. Returns the path, and the rest of the word
    /// from the operator on.
    static func split(
        _ word: String, before operators: [String]
    ) throws(ToolError) -> (path: SettingPath, rest: Substring) {
        var reader = SettingPathReader(word, operators)
        let tokens = try reader.tokens()
        let path = SettingPath(
            key: try .named(tokens.first ?? ""), pointer: JSONPointer(Array(tokens.dropFirst())),
            description: String(word.prefix(upTo: reader.rest.startIndex)))
        return (path, word[reader.rest.startIndex...])
    }

    private init(key: KeyName, pointer: JSONPointer, description: String) {
        (self.key, self.pointer, self.description) = (key, pointer, description)
    }

    /// True if the path is probably meant as a pattern, such as `player.*`. The path `["player.*"]` is a key.
    var isPattern: Bool { isWhole && description.hasSuffix("*") }

    /// Makes the error for a pattern in a command that accepts only keys.
    ///
    /// - Parameter advice: a clause that names the command for a pattern.
    func patternError(_ advice: String) -> ToolError {
        .usage(
            "'\(Terminal.escaped(description))' is a pattern, not a key; \(Terminal.escaped(advice)); write "
                + "'\(Terminal.escaped(Self.quoted(key.text)))' for a key with this name")
    }

    /// Returns the paths without duplicates, in an order in which the parts can be removed: the last elements of an
    /// array come first, because the removal of an element changes the indexes of the elements after it. If all paths
    /// are whole keys, they keep their order.
    static func inOrderOfRemoval(_ paths: [SettingPath]) -> [SettingPath] {
        guard !paths.allSatisfy(\.isWhole) else {
            var names: Set<KeyName> = []
            return paths.filter { names.insert($0.key).inserted }
        }
        var ordered: [SettingPath] = []
        // A path that does not precede the path before it is a duplicate.
        for path in paths.sorted(by: { $1.precedes($0) }) where ordered.last.map(path.precedes) ?? true {
            ordered.append(path)
        }
        return ordered
    }

    /// True if the path precedes another path in the order of keys, members and elements.
    private func precedes(_ other: SettingPath) -> Bool {
        let (steps, otherSteps) = ([key.text] + pointer.tokens, [other.key.text] + other.pointer.tokens)
        for (step, otherStep) in zip(steps, otherSteps) where step != otherStep {
            guard let index = JSONPointer.arrayIndex(step), let otherIndex = JSONPointer.arrayIndex(otherStep) else {
                return step < otherStep
            }
            return index < otherIndex
        }
        return steps.count < otherSteps.count
    }

    /// Returns the part of a value at the path. If the value has no part there, throws an error with the exit code
    /// `code`.
    func part(of value: JSONValue, orEndWith code: ExitCode = .refused) throws(ToolError) -> JSONValue {
        do throws(OperationError) {
            return try value.found(at: pointer)
        } catch {
            throw ToolError(code, "\(self): \(error.detail)")
        }
    }

    /// Returns the word of the command line that names a whole key.
    static func word(for key: KeyName) -> String {
        key.text.contains { "[=".contains($0) } ? quoted(key.text) : key.text
    }

    /// Returns a name in brackets and quotation marks, which may contain any character.
    static func quoted(_ name: String) -> String { "[\(JSONValue.string(name).text())]" }
}

extension KeyName {
    /// Reads a word that names a whole key.
    static func whole(_ word: String) throws(ToolError) -> KeyName { try whole(try SettingPath(word), word) }

    /// Returns the key of a path. Throws if the path leads to a part of the value. `word` is the path for the error
    /// message.
    static func whole(_ path: SettingPath, _ word: String) throws(ToolError) -> KeyName {
        guard path.isWhole else {
            throw .usage(
                "'\(Terminal.escaped(word))' is a part of a value, but the command takes whole keys; write "
                    + "\(SettingPath.word(for: path.key)), or \(Terminal.escaped(SettingPath.quoted(word))) for a key with this name"
            )
        }
        return path.key
    }
}

extension Arguments {
    /// The settings, or parts of them, that the operands from a position on name.
    func paths(from position: Int) throws(ToolError) -> [SettingPath] {
        var paths: [SettingPath] = []
        for word in operands.dropFirst(position) { paths.append(try SettingPath(word)) }
        return paths
    }
}

/// A reader of the steps of a path, up to an operator or the end of the word.
private struct SettingPathReader {
    private let word: String
    private let operators: [String]
    private(set) var rest: Substring.UTF8View

    init(_ word: String, _ operators: [String]) {
        (self.word, self.operators) = (word, operators)
        rest = word[...].utf8
    }

    private var isAtOperator: Bool { operators.contains { rest.starts(with: $0.utf8) } }

    /// Returns the key and the steps into its value.
    mutating func tokens() throws(ToolError) -> [String] {
        var tokens = rest.first == UInt8(ascii: "[") ? [] : [takeName(upTo: "[")]
        while let byte = rest.first, !isAtOperator {
            rest.removeFirst()
            switch byte {
            case UInt8(ascii: "["): tokens.append(try takeBracket())
            case UInt8(ascii: "."):
                let name = takeName(upTo: "[.")
                guard !name.isEmpty else { throw error("a name is missing after the dot") }
                tokens.append(name)
            default: throw error("expected \((["[", "."] + operators).alternatives) after ]")
            }
        }
        return tokens
    }

    /// Removes and returns a name, which ends before one of the given characters or before an operator.
    private mutating func takeName(upTo ends: String) -> String {
        let start = rest
        while let byte = rest.first, !ends.utf8.contains(byte), !isAtOperator { rest.removeFirst() }
        return String(decoding: start[..<rest.startIndex], as: UTF8.self)
    }

    /// Removes a step up to its closing bracket, and returns its name. The opening bracket is already removed.
    private mutating func takeBracket() throws(ToolError) -> String {
        let name: String
        if rest.first == UInt8(ascii: "\"") {
            rest.removeFirst()
            var isEscaped = false
            let text = take { byte in
                let isEnd = byte == UInt8(ascii: "\"") && !isEscaped
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                return !isEnd
            }
            guard rest.popFirst() != nil, let string = (try? JSONValue(parsing: "\"\(text)\""))?.string else {
                throw error("a name in quotation marks must be a JSON string")
            }
            name = string
        } else {
            name = take { $0 != UInt8(ascii: "]") }
            guard !name.isEmpty else { throw error("a name or a number is missing in []") }
        }
        guard rest.popFirst() == UInt8(ascii: "]") else { throw error("] is missing") }
        return name
    }

    private mutating func take(while isTaken: (UInt8) -> Bool) -> String {
        let taken = rest.prefix(while: isTaken)
        rest = rest[taken.endIndex...]
        return String(decoding: taken, as: UTF8.self)
    }

    private func error(_ cause: String) -> ToolError {
        let key = word.prefix { $0 != "=" }
        return .usage(
            "cannot read the path '\(Terminal.escaped(word))': \(cause); write KEY[0].name for a part of a value, or "
                + "\(Terminal.escaped(SettingPath.quoted(String(key)))) for a key with this name")
    }
}
