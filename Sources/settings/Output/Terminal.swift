import Platform
import SettingsHTTP

/// Output to the terminal, or to the file or pipe to which the output is redirected.
enum Terminal {
    /// True if the output goes to a terminal that shows colours.
    static let hasColours: Bool = {
        guard OutputDescriptor.standardOutput.isTerminal else { return false }
        if EnvironmentVariables.nonEmptyValue(of: "NO_COLOR") != nil { return false }
        return EnvironmentVariables.value(of: "TERM") != "dumb"
    }()

    /// The number of columns of the terminal; nil if standard output is not a terminal, so that no text is cut.
    static let width: Int? = {
        guard OutputDescriptor.standardOutput.isTerminal else { return nil }
        return OutputDescriptor.standardOutput.terminalWidth ?? 80
    }()

    /// Prints a message to standard error, after all text that was printed before. The message may contain file names
    /// with escaped bytes.
    static func warn(_ message: String) {
        try? write("settings: \(message.withVisibleBytes)\n", to: .standardError)
    }

    /// Asks the user a question. Returns nil if there is no terminal, or if the user ends the input.
    static func answer(to question: String) -> String? {
        guard canAsk else { return nil }
        try? write("\(question) ", to: .standardError)
        return readLine()
    }

    /// True if standard input and standard error are terminals, so that the user can answer a question.
    static var canAsk: Bool { FileContents.standardInputIsTerminal && OutputDescriptor.standardError.isTerminal }

    /// Replaces the last line of the terminal at standard error by a text. An empty text clears the line.
    static func replaceLastLine(by text: String) throws(ToolError) {
        try write("\r\(text)\u{1B}[K", to: .standardError)
    }

    /// Waits for a line or the end of standard input. Returns false if the time is over first.
    static func awaitInput(until end: ContinuousClock.Instant) -> Bool {
        PollSet.wait(for: .readable, on: FileContents.standardInput, until: end)
    }

    /// Writes bytes without changes, after all text that was printed before.
    static func write(_ bytes: Span<UInt8>, to descriptor: OutputDescriptor) throws(ToolError) {
        try flush()
        do throws(OutputDescriptor.PartialWriteError) {
            try descriptor.write(bytes)
        } catch {
            throw ToolError(output: error.cause)
        }
    }

    static func write(_ text: String, to descriptor: OutputDescriptor) throws(ToolError) {
        try write(text.utf8Span.span, to: descriptor)
    }

    /// Writes the printed text that is still in a buffer.
    static func flush() throws(ToolError) {
        do throws(SystemError) {
            try OutputDescriptor.flushPrintedText()
        } catch {
            throw ToolError(output: error)
        }
    }

    enum Style: String {
        case faint = "2"
        case bad = "31"
        case strong = "1"
    }

    static func styled(_ text: String, _ style: Style?) -> String {
        guard let style, hasColours, !text.isEmpty else { return text }
        return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
    }

    /// Returns the text with escapes instead of line ends, tabs and characters that control a terminal.
    static func escaped(_ text: String, except unescaped: Set<Unicode.Scalar> = []) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        return text.unicodeScalars.map { scalar in
            switch scalar {
            case _ where unescaped.contains(scalar): String(scalar)
            case "\n": "\\n"
            case "\t": "\\t"
            default: isUnsafe(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
            }
        }.joined()
    }

    /// Returns the text for standard output. If standard output is a terminal, the text has escapes instead of
    /// characters that control a terminal, except tabs and line ends. Otherwise the text is unchanged, for scripts.
    static func escapedAtTerminal(_ text: String) -> String {
        OutputDescriptor.standardOutput.isTerminal ? escaped(text, except: ["\n", "\t"]) : text
    }

    /// True for control characters, line separators, and the characters that change the direction of text.
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20..<0x7F: false
        case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
        }
    }
}

/// A table with aligned columns. A command prints a page of rows as soon as it has received the page.
struct Table {
    private var widths: [Int]
    /// The text between two columns.
    private let separator = "  "

    init(columns: Int) {
        widths = [Int](repeating: 0, count: columns)
    }

    /// The text of a cell, with the style in which a terminal shows the text.
    struct Cell {
        let text: String
        var style: Terminal.Style?

        init(_ text: String, _ style: Terminal.Style? = nil) {
            self.text = Terminal.escaped(text)
            self.style = style
        }
    }

    /// Prints rows. The columns are at least as wide as in the rows before. On a terminal, a text that is too long is
    /// cut: to half the width of the terminal, and in the last column to the end of the line.
    mutating func print(_ rows: [[Cell]]) {
        let maximumWidth = Terminal.width.map { max(16, $0 / 2) } ?? .max
        for row in rows {
            for (column, cell) in row.enumerated() where column < row.count - 1 {
                widths[column] = min(max(widths[column], cell.text.displayWidth), maximumWidth)
            }
        }
        for row in rows { Swift.print(line(row)) }
    }

    private func line(_ row: [Cell]) -> String {
        var line = ""
        var usedColumns = 0
        let last = row.lastIndex { !$0.text.isEmpty } ?? 0
        for (column, cell) in row[...last].enumerated() {
            var text = cell.text
            if let width = Terminal.width, column == row.count - 1 || text.displayWidth > widths[column] {
                let available = column == row.count - 1 ? max(8, width - usedColumns) : widths[column]
                if text.displayWidth > available { text = text.prefix(ofWidth: max(1, available - 1)) + "…" }
            }
            let padded = column == last ? text : text.padded(to: widths[column])
            line += Terminal.styled(padded, cell.style) + (column == last ? "" : separator)
            usedColumns += padded.displayWidth + separator.count
        }
        return line
    }
}

extension JSONValue {
    /// Makes an object of the members that have a value.
    static func members(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
        var object = JSONObject()
        for (name, value) in members {
            if let value { _ = object.append(JSONObject.Member(name: name, value: value)) }
        }
        return .object(object)
    }

    /// The value for a person or a script: a text without quotes, any other value as JSON.
    var unquotedText: String { string ?? text() }
}

extension Change {
    /// The change in a line: the key, the value before, and the value after.
    var line: String {
        isSecret ? Self.line(of: key) : Self.line(of: key, from: (old, oldSource), to: (new, source))
    }

    /// The line for a change of a secret, without the values.
    static func line(of key: KeyName) -> String { "\(Terminal.escaped(key.text)): ••• → •••" }

    static func line(of key: KeyName, from old: (JSONValue?, Source), to new: (JSONValue?, Source)) -> String {
        "\(Terminal.escaped(key.text)): \(Terminal.escaped(text(old.0, old.1))) → \(Terminal.escaped(text(new.0, new.1)))"
    }

    private static func text(_ value: JSONValue?, _ source: Source) -> String {
        guard let value else { return "(\(source.name))" }
        return source == .default ? "\(value.text()) (default)" : value.text()
    }
}

extension Timestamp {
    /// The time for a person, in UTC to the second.
    var short: String { description.prefix(19).replacing("T", with: " ") + "Z" }
}
