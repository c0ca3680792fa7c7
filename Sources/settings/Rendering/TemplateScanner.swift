import SettingsModel

/// A reader of the words and signs in a tag of a template.
struct TemplateScanner {
    private let source: [UInt8]
    private let end: Int
    /// The offset in the source of the template.
    private(set) var offset: Int

    init(_ source: [UInt8], _ range: Range<Int>) {
        self.source = source
        (offset, end) = (range.lowerBound, range.upperBound)
    }

    var isAtEnd: Bool { offset == end }

    /// The next byte.
    var next: UInt8? { offset < end ? source[offset] : nil }

    mutating func skipSpace() {
        while let byte = next, TemplateTag.isSpace(byte) { offset += 1 }
    }

    /// Skips a sign. Returns false if another byte follows.
    mutating func skip(_ sign: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: sign) else { return false }
        offset += 1
        return true
    }

    /// Reads the bytes up to a space or a sign of the language; empty if such a byte follows.
    mutating func word() -> String {
        let start = offset
        while let byte = next, !TemplateTag.isSpace(byte), !".|[](),\"".utf8.contains(byte) { offset += 1 }
        return String(decoding: source[start..<offset], as: UTF8.self)
    }

    /// Reads a text in quotation marks, which is a JSON string. Nil if no quotation mark follows.
    mutating func quotedText() throws(TemplateError) -> String? {
        let start = offset
        guard skip("\"") else { return nil }
        while let byte = next, byte != UInt8(ascii: "\"") {
            offset += 1
            if byte == UInt8(ascii: "\\"), !isAtEnd { offset += 1 }
        }
        // `TemplateTag` has checked that the quotation mark is there.
        _ = skip("\"")
        guard let text = (try? JSONValue(parsing: Array(source[start..<offset])))?.string else {
            throw TemplateError(at: start, "a text in quotation marks must be a JSON string")
        }
        return text
    }

    /// Reads a name: a word, or a text in quotation marks.
    mutating func name(_ purpose: String) throws(TemplateError) -> String {
        if let text = try quotedText() { return text }
        let start = offset
        let word = word()
        guard !word.isEmpty else { throw TemplateError(at: start, "\(purpose) is missing\(found)") }
        return word
    }

    /// Throws unless the tag ends here.
    mutating func requireEnd(orElse expected: String) throws(TemplateError) {
        skipSpace()
        guard isAtEnd else { throw TemplateError(at: offset, "expected \(expected)\(found)") }
    }

    /// The byte that an error message names.
    var found: String {
        guard !isAtEnd else { return "" }
        let rest = String(decoding: source[offset..<end], as: UTF8.self)
        return "; found '\(Terminal.plain(String(rest.prefix(1))))'"
    }
}
