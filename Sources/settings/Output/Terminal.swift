import Platform
import SettingsHTTP

/// The terminal, or the file or pipe in its place.
enum Terminal {
    /// True if the output goes to a terminal that shows colours.
    static let hasColours: Bool = {
        guard OutputDescriptor.standardOutput.isTerminal else { return false }
        if EnvironmentVariables.nonEmptyValue(of: "NO_COLOR") != nil { return false }
        return EnvironmentVariables.value(of: "TERM") != "dumb"
    }()

    /// The columns of the terminal; nil if the output goes elsewhere, where nothing is cut.
    static let width: Int? = {
        guard OutputDescriptor.standardOutput.isTerminal else { return nil }
        return OutputDescriptor.standardOutput.terminalWidth ?? 80
    }()

    /// Prints a message for the person, after the text that was printed before. The message may contain names of files with
    /// escaped bytes.
    static func warn(_ message: String) {
        try? write("settings: \(message.withVisibleBytes)\n", to: .standardError)
    }

    /// Asks the person a question. Returns nil if no person is at a terminal, or the person ends the input.
    static func answer(to question: String) -> String? {
        guard canAsk else { return nil }
        try? write("\(question) ", to: .standardError)
        return readLine()
    }

    /// True if a person can answer a question at the terminal.
    static var canAsk: Bool { FileContents.standardInputIsTerminal && OutputDescriptor.standardError.isTerminal }

    /// Replaces the last line of the terminal of messages by a text; clears the line if the text is empty.
    static func show(_ text: String) throws(ToolError) {
        try write("\r\(text)\u{1B}[K", to: .standardError)
    }

    /// Waits for a line of standard input. Returns false if the time is over first.
    static func awaitInput(until end: ContinuousClock.Instant) -> Bool {
        PollSet.wait(for: .readable, on: FileContents.standardInput, until: end)
    }

    /// Writes bytes without changes. Text that was printed before comes out first.
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

    /// The text with escapes in place of line ends and of the characters that a terminal would act on.
    static func plain(_ text: String, except kept: Set<Unicode.Scalar> = []) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        return text.unicodeScalars.map { scalar in
            switch scalar {
            case _ where kept.contains(scalar): String(scalar)
            case "\n": "\\n"
            case "\t": "\\t"
            default: isUnsafe(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
            }
        }.joined()
    }

    /// The text for standard output: on a terminal, with the characters that a terminal would act on made visible, except
    /// tabs and line ends; elsewhere unchanged, for scripts.
    static func safe(_ text: String) -> String {
        OutputDescriptor.standardOutput.isTerminal ? plain(text, except: ["\n", "\t"]) : text
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

/// A table whose columns are aligned. It prints page by page, so that long lists need not be waited for.
struct Table {
    private var widths: [Int]
    /// The columns at the end of a line may be cut to the width of the terminal. Other columns are never cut.
    private let separator = "  "

    init(columns: Int) {
        widths = [Int](repeating: 0, count: columns)
    }

    /// A cell with how it looks.
    struct Cell {
        let text: String
        var style: Terminal.Style?

        init(_ text: String, _ style: Terminal.Style? = nil) {
            self.text = Terminal.plain(text)
            self.style = style
        }
    }

    /// Prints rows. Their columns are at least as wide as those before.
    mutating func print(_ rows: [[Cell]]) {
        let most = Terminal.width.map { max(16, $0 / 2) } ?? .max
        for row in rows {
            for (column, cell) in row.enumerated() where column < row.count - 1 {
                widths[column] = min(max(widths[column], cell.text.displayWidth), most)
            }
        }
        for row in rows { Swift.print(line(row)) }
    }

    private func line(_ row: [Cell]) -> String {
        var line = ""
        var used = 0
        let last = row.lastIndex { !$0.text.isEmpty } ?? 0
        for (column, cell) in row[...last].enumerated() {
            var text = cell.text
            if let width = Terminal.width, column == row.count - 1 || text.displayWidth > widths[column] {
                let room = column == row.count - 1 ? max(8, width - used) : widths[column]
                if text.displayWidth > room { text = text.prefix(ofWidth: max(1, room - 1)) + "…" }
            }
            let padded = column == last ? text : text.padded(to: widths[column])
            line += Terminal.styled(padded, cell.style) + (column == last ? "" : separator)
            used += padded.displayWidth + separator.count
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
    var bare: String { string ?? text() }
}

extension Change {
    /// The change in a line: the key, the value before, and the value after.
    var line: String {
        isSecret ? Self.line(of: key) : Self.line(of: key, from: (old, oldSource), to: (new, source))
    }

    /// The line of a change of a secret.
    static func line(of key: KeyName) -> String { "\(Terminal.plain(key.text)): ••• → •••" }

    static func line(of key: KeyName, from old: (JSONValue?, Source), to new: (JSONValue?, Source)) -> String {
        "\(Terminal.plain(key.text)): \(Terminal.plain(text(old.0, old.1))) → \(Terminal.plain(text(new.0, new.1)))"
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
