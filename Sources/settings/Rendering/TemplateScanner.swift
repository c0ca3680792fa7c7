import SettingsModel

/// Reads the source of a template: the text outside of tags, and the words and punctuation characters in tags.
struct TemplateScanner {
    private let source: [UInt8]
    /// The offset of the next byte.
    private(set) var offset = 0

    init(_ source: [UInt8]) {
        self.source = source
    }

    /// The next byte.
    var next: UInt8? { offset < source.count ? source[offset] : nil }

    private var isAtTagEnd: Bool { next == nil || startsWith("}}") }

    private func startsWith(_ text: String) -> Bool { source[offset...].starts(with: text.utf8) }

    // MARK: Text

    /// Reads the text up to the next tag, and skips the braces that open the tag. Returns the range of the text. If no
    /// tag follows, returns nil and reads nothing.
    mutating func readTextBeforeTag() -> Range<Int>? {
        let brace = UInt8(ascii: "{")
        var rest = source[offset...]
        while let tag = rest.firstIndex(of: brace) {
            rest = source[(tag + 1)...]
            guard rest.first == brace else { continue }
            defer { offset = tag + 2 }
            return offset..<tag
        }
        return nil
    }

    /// Skips the bytes up to the end of a comment.
    mutating func skipComment() {
        while !isAtTagEnd { offset += 1 }
    }

    /// If the line contains only blanks and the tag that has just ended, skips the rest of the line, and returns the
    /// offset of the start of the line. Otherwise returns nil and skips nothing.
    mutating func skipLine(ofTagAt tagStart: Int) -> Int? {
        let lineStart = source[..<tagStart].lastIndex { !Self.isBlank($0) }.map { $0 + 1 } ?? 0
        guard lineStart == 0 || source[lineStart - 1] == UInt8(ascii: "\n") else { return nil }
        let rest = source[offset...].drop(while: Self.isBlank)
        for lineEnd in ["\n", "\r\n"] where rest.starts(with: lineEnd.utf8) {
            offset = rest.startIndex + lineEnd.utf8.count
            return lineStart
        }
        guard rest.isEmpty else { return nil }
        offset = source.count
        return lineStart
    }

    // MARK: Tags

    mutating func skipSpace() {
        while let byte = next, Self.isSpace(byte) { offset += 1 }
    }

    /// Skips the next byte if it is this character. Otherwise returns false and skips nothing.
    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    /// Reads the bytes up to a space or a punctuation character that has a meaning in tags. Returns an empty text if
    /// the next byte is such a character.
    mutating func readWord() -> String {
        let start = offset
        while let byte = next, !isAtTagEnd, !Self.isSpace(byte), !".|[](),\"".utf8.contains(byte) { offset += 1 }
        return String(decoding: source[start..<offset], as: UTF8.self)
    }

    /// Skips a word if only this word follows in the tag. Otherwise returns false and skips nothing.
    mutating func skipOnlyWord(_ text: String) -> Bool {
        var copy = self
        let word = copy.readWord()
        copy.skipSpace()
        guard word == text, copy.isAtTagEnd else { return false }
        self = copy
        return true
    }

    /// Reads a text in quotation marks, which must be a JSON string. Returns nil if no quotation mark follows.
    mutating func readQuotedText() throws(TemplateError) -> String? {
        let start = offset
        guard skip("\"") else { return nil }
        while !skip("\"") {
            offset += next == UInt8(ascii: "\\") ? 2 : 1
            guard offset < source.count else {
                throw TemplateError(at: start, "the text is not closed; a quotation mark is missing")
            }
        }
        guard let text = (try? JSONValue(parsing: Array(source[start..<offset])))?.string else {
            throw TemplateError(at: start, "a text in quotation marks must be a JSON string")
        }
        return text
    }

    /// Reads a name: a word, or a text in quotation marks.
    ///
    /// - Parameter purpose: the subject of the error message if no name follows.
    mutating func readName(_ purpose: String) throws(TemplateError) -> String {
        if let text = try readQuotedText() { return text }
        let start = offset
        let word = readWord()
        guard !word.isEmpty else { throw TemplateError(at: start, "\(purpose) is missing\(foundPhrase)") }
        return word
    }

    /// Skips the braces that close the tag.
    ///
    /// - Parameters:
    ///   - start: the offset of the tag, for the error message if the template ends before the braces.
    ///   - expected: the syntax that may follow in the tag, for the error message if something else follows.
    mutating func closeTag(at start: Int, expecting expected: String = "}}") throws(TemplateError) {
        skipSpace()
        guard next != nil else { throw TemplateError(at: start, "the tag is not closed; }} is missing") }
        guard startsWith("}}") else { throw TemplateError(at: offset, "expected \(expected)\(foundPhrase)") }
        offset += 2
    }

    /// The end of an error message, which names the next character. Empty at the end of the tag.
    var foundPhrase: String {
        guard !isAtTagEnd else { return "" }
        // The next character has at most 100 bytes, apart from characters with very many combining marks.
        let rest = String(decoding: source[offset...].prefix(100), as: UTF8.self)
        return "; found '\(Terminal.escaped(String(rest.prefix(1))))'"
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func isSpace(_ byte: UInt8) -> Bool {
        isBlank(byte) || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }
}
