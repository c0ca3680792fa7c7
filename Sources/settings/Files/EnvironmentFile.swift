import SettingsHTTP
import SettingsModel

/// The format of `.env` files: a line `KEY=value` for each setting, quoted for the shell.
///
/// A text is written without the quotes of JSON, unless ``settings(of:schema:)`` would then read another value, such as
/// a number. All other values are written as JSON.
enum EnvironmentFile {
    /// Returns the lines for settings. Throws an error that names each key that a line cannot represent, and each key
    /// whose value a line cannot represent.
    static func text(of settings: [StoredSetting], schema: Schema?) throws(ToolError) -> String {
        var (text, problems) = ("", [String]())
        for setting in settings {
            let (key, value) = (setting.key, setting.value)
            let reader = ValueReader(key, schema?.key(key.text)?.document)
            let word = [value.unquotedText, value.text()].first { word in
                !word.utf8.contains(0) && (try? reader.read(word)) == value
            }
            if !isName(key.text) {
                problems.append(
                    "  \(key): a key must begin with a letter or '_', and have only letters, digits, '_', '.' and '-'"
                )
            } else if let word {
                text += "\(key)=\(quoted(word))\n"
            } else {
                problems.append("  \(key): a line cannot represent the value")
            }
        }
        try ToolError.requireNoProblems(problems, format: ".env")
        return text
    }

    /// Reads the settings of a file. The schema decides the type of each value. Throws an error that lists all
    /// mistakes.
    static func settings(of bytes: [UInt8], schema: Schema?) throws(ToolError) -> [StoredSetting] {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        guard let text = String(validating: bytes.dropFirst(bytes.starts(with: byteOrderMark) ? 3 : 0), as: UTF8.self)
        else { throw ToolError(.failed, "not valid UTF-8") }
        var (lines, settings, errors) = (EnvironmentLines(text), [StoredSetting](), [ToolError]())
        var keys: Set<KeyName> = []
        while lines.skipToSetting() {
            let number = lines.number
            do throws(ToolError) {
                let line = try lines.next()
                let key = try KeyName.named(line.name)
                guard keys.insert(key).inserted else { throw ToolError(.failed, "\(key) occurs twice") }
                let reader = ValueReader(key, schema?.key(key.text)?.document)
                settings.append(StoredSetting(key: key, value: try reader.read(line.word)))
            } catch {
                errors.append(ToolError(error.code, "line \(number): \(error.message)"))
                lines.skipLine()
            }
        }
        guard let first = errors.first else { return settings }
        throw ToolError(first.code, errors.map(\.message).joined(separator: "\n  "))
    }

    /// True if a line may have the text as its key. The shell itself accepts only keys without `.` and `-`.
    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !isDigit(first), !".-".utf8.contains(first) else { return false }
        return text.utf8.allSatisfy(isNameByte)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
            UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: isDigit(byte)
        }
    }

    /// Returns the word with quotes if the shell needs them to read the same word.
    static func quoted(_ word: String) -> String {
        if word.utf8.allSatisfy({ isNameByte($0) || "/:@%+,=".utf8.contains($0) }) { return word }
        // The loop reads scalars, because an apostrophe with a combining accent is one `Character`, but the shell sees
        // the apostrophe.
        return "'" + word.unicodeScalars.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
    }
}

/// A reader of the lines of a `.env` file. Text that the shell would expand or run is an error, because this reader
/// does neither.
private struct EnvironmentLines {
    private var rest: Substring.UTF8View
    /// The number of the line that is read next.
    private(set) var number = 1

    init(_ text: String) {
        rest = text[...].utf8
    }

    /// Skips blank lines and comments. Returns false at the end of the file.
    mutating func skipToSetting() -> Bool {
        while true {
            skipBlanks()
            skipComment()
            guard isAtLineEnd, let byte = rest.first else { return !rest.isEmpty }
            advance(past: byte)
        }
    }

    /// Skips the rest of a line with a mistake.
    mutating func skipLine() { rest = rest.drop { $0 != UInt8(ascii: "\n") } }

    /// Reads a line. Returns the name and the value, which is a word without the quotes of the shell.
    mutating func next() throws(ToolError) -> (name: String, word: String) {
        var name = readName()
        if name == "export", rest.first.map(Self.isBlank) ?? false {
            skipBlanks()
            name = readName()
        }
        guard EnvironmentFile.isName(name), rest.first == UInt8(ascii: "=") else {
            throw error("expected KEY=value")
        }
        rest.removeFirst()
        let word = try word(of: name)
        skipBlanks()
        skipComment()
        guard rest.first == nil || isAtLineEnd else {
            throw error("a value with blanks needs quotes: \(name)='…'")
        }
        return (name, word)
    }

    /// Reads a value, and removes the quotes of the shell.
    private mutating func word(of name: String) throws(ToolError) -> String {
        var word: [UInt8] = []
        if rest.first == UInt8(ascii: "~") { throw specialCharacterError("~", in: name) }
        while let byte = rest.first, !Self.isBlank(byte), !isAtLineEnd {
            switch byte {
            case UInt8(ascii: "'"):
                rest.removeFirst()
                while let byte = rest.first, byte != UInt8(ascii: "'") { word.append(advance(past: byte)) }
                try skipClosingQuote(name)
            case UInt8(ascii: "\""):
                rest.removeFirst()
                try readDoubleQuoted(name, into: &word)
                try skipClosingQuote(name)
            case UInt8(ascii: "\\"):
                rest.removeFirst()
                guard let byte = rest.first else { throw error("nothing follows the last '\\' of \(name)") }
                if advance(past: byte) != UInt8(ascii: "\n") { word.append(byte) }
            case let byte where "$`;&|<>()".utf8.contains(byte):
                throw specialCharacterError(String(UnicodeScalar(byte)), in: name)
            default: word.append(advance(past: byte))
            }
        }
        return String(decoding: word, as: UTF8.self)
    }

    private mutating func readDoubleQuoted(_ name: String, into word: inout [UInt8]) throws(ToolError) {
        while let byte = rest.first, byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "$") || byte == UInt8(ascii: "`") {
                throw specialCharacterError(String(UnicodeScalar(byte)), in: name)
            }
            word.append(advance(past: byte))
            guard byte == UInt8(ascii: "\\"), let escaped = rest.first, "$`\"\\\n".utf8.contains(escaped) else {
                continue
            }
            word.removeLast()
            if advance(past: escaped) != UInt8(ascii: "\n") { word.append(escaped) }
        }
    }

    private mutating func skipClosingQuote(_ name: String) throws(ToolError) {
        guard rest.popFirst() != nil else { throw error("a quotation mark in the value of \(name) is not closed") }
    }

    /// Skips the next byte, which is `byte`, and returns `byte`. Counts lines.
    @discardableResult
    private mutating func advance(past byte: UInt8) -> UInt8 {
        rest.removeFirst()
        if byte == UInt8(ascii: "\n") { number += 1 }
        return byte
    }

    private mutating func readName() -> String {
        let name = rest.prefix(while: EnvironmentFile.isNameByte)
        rest = rest.dropFirst(name.count)
        return String(decoding: name, as: UTF8.self)
    }

    private mutating func skipBlanks() { rest = rest.drop(while: Self.isBlank) }

    private mutating func skipComment() {
        if rest.first == UInt8(ascii: "#") { rest = rest.drop { $0 != UInt8(ascii: "\n") } }
    }

    /// True at a line end: a line feed, or a carriage return and a line feed, as on Windows.
    private var isAtLineEnd: Bool {
        rest.first == UInt8(ascii: "\n") || rest.starts(with: [UInt8(ascii: "\r"), UInt8(ascii: "\n")])
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private func specialCharacterError(_ character: String, in name: String) -> ToolError {
        error("\(character) has a meaning in the shell; quote the value: \(name)='…'")
    }

    private func error(_ message: String) -> ToolError {
        ToolError(.failed, message)
    }
}
