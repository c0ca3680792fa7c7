import Platform
import SettingsHTTP
import SettingsModel

/// The operands and options of a command.
struct Arguments: Sendable {
    private(set) var operands: [String] = []
    /// The words after `--` if the command takes a program: the program and its arguments.
    private(set) var program: [String] = []
    private var options: [String: [String]] = [:]

    /// True if a word is a negative number, not an option. `Double` also reads `-inf` and `-nan`, which are no numbers
    /// in JSON, so a digit must follow the sign.
    private static func isNegativeNumber(_ word: String) -> Bool {
        Double(word) != nil && word.dropFirst().first?.isNumber ?? false
    }

    /// Reads the words after the name of a command. ``Command/validate(_:)`` checks the operands.
    ///
    /// An argument that begins with a dash is an option, unless it is `-` or a negative number, or follows `--`.
    init(_ words: some Sequence<String>, for command: Command) throws(ToolError) {
        let known = command.options + Command.common
        var words = Array(words)[...]
        var areOptionsOver = false
        while let word = words.popFirst() {
            guard !areOptionsOver, word.hasPrefix("-"), word != "-", !Self.isNegativeNumber(word) else {
                operands.append(word)
                continue
            }
            if word == "--" {
                guard !command.takesProgram else {
                    program = Array(words)
                    return
                }
                areOptionsOver = true
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            try Self.requireUTF8([String(parts[0])])
            guard let option = known.first(where: { $0.matches(parts[0]) }) else {
                let suggestions = NameSuggestion.nearest(
                    to: String(parts[0].dropFirst(2)), among: known.map(\.name)
                ).map { "--\($0)" }
                let question =
                    suggestions.isEmpty ? "" : "; did you mean \(suggestions.joined(separator: " or "))?"
                let takesValue = command.forms.flatMap(\.operands).contains { $0.placeholder.contains("VALUE") }
                let remark = takesValue ? "; write -- before a value that begins with a dash" : ""
                throw .usage(
                    "'settings \(command.name)' has no option \(Terminal.escaped(word))\(question)\(remark); "
                        + "'settings help \(command.name)' lists the options")
            }
            let name = option.name
            var value = parts.count > 1 ? String(parts[1]) : nil
            if option.placeholder == nil {
                guard value == nil else { throw .usage("--\(name) takes no value") }
            } else if value == nil {
                value = words.popFirst()
                guard value != nil else {
                    throw .usage("--\(name) needs a value: --\(name) \(option.placeholder ?? "")")
                }
            }
            if let value, !Command.isFileName(option.placeholder) { try Self.requireUTF8([value]) }
            guard options[name] == nil || option.isRepeatable else { throw .usage("--\(name) is given twice") }
            options[name, default: []].append(value ?? "")
        }
        let forms = command.selectedForms(self).joined()
        try Self.requireUTF8(
            operands.enumerated().filter { position, _ in
                !forms.contains { Command.isFileName($0.operand(at: position)?.placeholder) }
            }.map(\.element))
    }

    /// Throws if a word has bytes that are not UTF-8. Does not recognize names of files, which may have such bytes: the
    /// calling code omits them.
    static func requireUTF8(_ words: [String]) throws(ToolError) {
        guard let word = words.first(where: \.hasEscapedBytes) else { return }
        throw .usage("the argument '\(word)' is not UTF-8; only names of files and directories may have other bytes")
    }

    /// Splits words into the common options with a value, such as `--server URL`, at the beginning, and the words after
    /// these options.
    static func splitLeadingCommonOptions(of words: some Sequence<String>) -> (options: [String], rest: [String]) {
        var (options, rest) = ([String](), Array(words)[...])
        while let word = rest.first {
            let name = word.prefix { $0 != "=" }
            guard Command.common.contains(where: { $0.matches(name) && $0.placeholder != nil }) else { break }
            options.append(rest.removeFirst())
            if !word.contains("="), let value = rest.popFirst() { options.append(value) }
        }
        return (options, Array(rest))
    }

    /// True if an option is given.
    func has(_ name: String) -> Bool { options[name] != nil }

    /// The value of an option.
    subscript(name: String) -> String? { options[name]?.last }

    /// All values of a repeatable option.
    func all(_ name: String) -> [String] { options[name] ?? [] }

    /// The number that an option gives.
    func number(_ name: String) throws(ToolError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), number >= 0 else { throw .usage("--\(name) takes a number, not '\(text)'") }
        return number
    }

    /// True if the command line has `--secrets`. Throws if `--secrets` is given without `--json`.
    func showsSecrets() throws(ToolError) -> Bool {
        guard has("json") || !has("secrets") else { throw .usage("--secrets needs --json") }
        return has("secrets")
    }

    /// The suite that the first operand names.
    func suite() throws(ToolError) -> SuiteName {
        guard let name = operands.first else { throw .usage("SUITE is missing; 'settings list' lists the suites") }
        return try .named(name)
    }

    /// The keys that the operands from a position on name. Throws if an operand names a part of a value.
    func keys(from position: Int) throws(ToolError) -> [KeyName] {
        var keys: [KeyName] = []
        for word in operands.dropFirst(position) { keys.append(try .whole(word)) }
        return keys
    }
}

extension SuiteName {
    /// Returns the suites that words name, without duplicates.
    static func named(_ words: [String]) throws(ToolError) -> [SuiteName] {
        var names: [SuiteName] = []
        for word in words {
            let name = try named(word)
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    /// Parses the name of a suite. An invalid name is a usage error.
    static func named(_ text: String) throws(ToolError) -> SuiteName {
        do {
            return try SuiteName(text)
        } catch {
            throw .usage("'\(Terminal.escaped(text))': \(error)")
        }
    }
}

extension KeyName {
    /// Parses the name of a key. An invalid name is a usage error.
    static func named(_ text: String) throws(ToolError) -> KeyName {
        do {
            return try KeyName(text)
        } catch {
            throw .usage("'\(Terminal.escaped(text))': \(error)")
        }
    }
}
