internal import SettingsModel

/// The words of a command line, told apart: `--option value`, `--option=value`, operands, and `--`, after which all are
/// operands.
struct CommandLineWords {
    enum Word: Hashable {
        /// An option's name with its dashes, and the value if it was written with `=`.
        case option(String, value: String?)
        case operand(String)
    }

    private var rest: ArraySlice<String>
    private var areOperands = false

    init(_ words: [String]) {
        rest = words[...]
    }

    mutating func next() -> Word? {
        guard let word = rest.popFirst() else { return nil }
        guard !areOperands, word.utf8.count > 1, word.hasBytePrefix("-") else { return .operand(word) }
        if word.utf8.count == 2, word.hasBytePrefix("--") {
            areOperands = true
            return next()
        }
        guard let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) else { return .option(word, value: nil) }
        return .option(String(word[..<equals]), value: String(word[word.utf8.index(after: equals)...]))
    }

    /// The value of the option that was just read. A word that looks like an option is none, so that one which was
    /// forgotten does not swallow the next option; `--data=-x` says that it is meant.
    mutating func nextValue() -> String? {
        guard let word = rest.first, !word.hasBytePrefix("-") else { return nil }
        return rest.popFirst()
    }
}
