import SettingsHTTP
import SettingsModel

/// A writer of property lists in XML, with the same header and the same indentation as the programs of macOS.
struct XMLPropertyListWriter {
    private var text = ""
    private var indent = ""

    /// True if XML 1.0 can represent a character.
    static func canRepresent(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x9, 0xA, 0xD: true
        case 0..<0x20, 0xFFFE, 0xFFFF: false
        default: true
        }
    }

    var document: String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        \(text)</plist>

        """
    }

    /// Writes a value. The schemas decide which texts are dates or data.
    ///
    /// - Parameters:
    ///   - partSchemas: the schemas of the members or elements of the value.
    ///   - schema: the schema of the value itself.
    mutating func write(_ value: JSONValue, _ partSchemas: PropertyList.PartSchemas, _ schema: JSONValue? = nil) {
        switch value {
        case .null: break  // `PropertyList.bytes` refuses settings with null before it calls the writer.
        case .bool(let truth): line(truth ? "<true/>" : "<false/>")
        case .integer(let number): line("<integer>\(number)</integer>")
        case .double(let number): line("<real>\(number)</real>")
        case .string(let text): write(text, schema)
        case .array(let elements):
            block("array", isEmpty: elements.isEmpty) { writer in
                for element in elements {
                    writer.write(element, PropertyList.PartSchemas(of: partSchemas.elements), partSchemas.elements)
                }
            }
        case .object(let object):
            block("dict", isEmpty: object.isEmpty) { writer in
                for member in object {
                    let schema = partSchemas.member(member.name)
                    writer.line("<key>\(Self.escaped(member.name))</key>")
                    writer.write(member.value, PropertyList.PartSchemas(of: schema), schema)
                }
            }
        }
    }

    private mutating func write(_ text: String, _ schema: JSONValue?) {
        switch PropertyList.DateOrData(text, schema) {
        case .data: line("<data>\(text)</data>")
        // A date in XML has no fraction of a second. Without a fraction, the text has 20 bytes.
        case .date where text.utf8.count == 20: line("<date>\(text)</date>")
        default: line("<string>\(Self.escaped(text))</string>")
        }
    }

    private mutating func line(_ line: String) { text += indent + line + "\n" }

    private mutating func block(_ name: String, isEmpty: Bool, _ body: (inout XMLPropertyListWriter) -> Void) {
        if isEmpty { return line("<\(name)/>") }
        line("<\(name)>")
        indent += "\t"
        body(&self)
        indent.removeLast()
        line("</\(name)>")
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            // A reader of XML would convert a carriage return to a line feed.
            case "\r": escaped += "&#13;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

/// A reader of property lists in XML. It reads only the elements of property lists, not XML in general.
struct XMLPropertyListReader {
    private var rest: ArraySlice<UInt8>
    /// The bytes of the whole file.
    private let bytes: [UInt8]

    static func read(_ bytes: [UInt8]) throws(ToolError) -> JSONValue {
        if let encoding = declaredEncoding(of: bytes), !["UTF-8", "UTF8", "US-ASCII"].contains(encoding.uppercased()) {
            throw ToolError(
                .failed,
                "the file declares the encoding \(Terminal.escaped(encoding)), and the program reads UTF-8 only; convert the "
                    + "file, for example with iconv, and declare UTF-8")
        }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw ToolError(.failed, "the file is neither a binary property list nor XML in UTF-8")
        }
        var reader = XMLPropertyListReader(bytes)
        return try reader.document()
    }

    /// The encoding of a file: UTF-16 if the file begins with the byte order mark of UTF-16, otherwise the encoding
    /// that the XML declaration names. Assumes that the declaration is in ASCII.
    private static func declaredEncoding(of bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) { return "UTF-16" }
        let start = String(decoding: bytes.prefix(200), as: UTF8.self)
        guard let declaration = start.firstRange(of: "<?xml"), let end = start.firstRange(of: "?>"),
            declaration.upperBound < end.lowerBound
        else { return nil }
        let words = start[declaration.upperBound..<end.lowerBound].split { $0.isWhitespace || "='\"".contains($0) }
        return words.firstIndex(of: "encoding").flatMap { $0 + 1 < words.count ? String(words[$0 + 1]) : nil }
    }

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        rest = bytes[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest.removeFirst(3) }
    }

    private mutating func document() throws(ToolError) -> JSONValue {
        try skipBlanksAndComments()
        while skip("<?") || skip("<!DOCTYPE") {
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")), !rest[..<end].contains(UInt8(ascii: "[")) else {
                throw error("a property list cannot have this declaration")
            }
            rest = rest[(end + 1)...]
            try skipBlanksAndComments()
        }
        var tag = try tag()
        let isWrapped = tag.name == "plist" && !tag.isEmpty
        if isWrapped { tag = try self.tag() }
        let value = try value(tag, depth: 1)
        if isWrapped { try close("plist") }
        try skipBlanksAndComments()
        guard rest.isEmpty else { throw error("unexpected text after the end") }
        return value
    }

    /// Reads the value that a tag begins.
    private mutating func value(_ tag: (name: String, isEmpty: Bool), depth: Int) throws(ToolError) -> JSONValue {
        guard depth <= PropertyList.maximumDepth else { throw error("the value is nested too deeply") }
        switch tag.name {
        case "dict":
            var object = JSONObject()
            while !tag.isEmpty {
                try skipBlanksAndComments()
                if rest.starts(with: "</".utf8) { break }
                guard try self.tag() == ("key", false) else { throw error("expected <key>") }
                let name = try text(of: "key")
                let next = try self.tag()
                guard object.append(JSONObject.Member(name: name, value: try value(next, depth: depth + 1))) else {
                    throw error("the key '\(Terminal.escaped(name))' occurs twice")
                }
            }
            if !tag.isEmpty { try close("dict") }
            return .object(object)
        case "array":
            var elements: [JSONValue] = []
            while !tag.isEmpty {
                try skipBlanksAndComments()
                if rest.starts(with: "</".utf8) { break }
                elements.append(try value(try self.tag(), depth: depth + 1))
            }
            if !tag.isEmpty { try close("array") }
            return .array(elements)
        default:
            return try scalar(tag.name, tag.isEmpty ? "" : try text(of: tag.name))
        }
    }

    private func scalar(_ name: String, _ text: String) throws(ToolError) -> JSONValue {
        let words = text.split(whereSeparator: \.isWhitespace)
        let word = words.joined(separator: name == "data" ? "" : " ")
        switch name {
        case "string": return .string(text)
        case "true", "false":
            guard word.isEmpty else { throw error("<\(name)> must be empty") }
            return .bool(name == "true")
        case "integer":
            let digits = word.hasPrefix("+") ? word.dropFirst() : word[...]
            let isHexadecimal = digits.hasPrefix("0x") || digits.hasPrefix("0X")
            guard let number = isHexadecimal ? Int64(digits.dropFirst(2), radix: 16) : Int64(digits) else {
                throw error("'\(Terminal.escaped(word))' is not a signed 64-bit integer")
            }
            return .integer(number)
        case "real":
            guard let number = Double(word), number.isFinite else {
                throw error("'\(Terminal.escaped(word))' is not a finite number")
            }
            return .double(number)
        case "date":
            guard word.utf8.count == 20, word.hasSuffix("Z"), DateTimeSyntax(word) != nil else {
                throw error("'\(Terminal.escaped(word))' is not a date such as 2026-11-20T10:00:00Z")
            }
            return .string(word)
        case "data":
            guard let bytes = Base64.bytes(of: word) else { throw error("data is not Base64") }
            return .string(Base64.text(of: bytes))
        default: throw error("<\(Terminal.escaped(name))> is not an element of a property list")
        }
    }

    // MARK: XML

    /// Reads an opening tag, and ignores its attributes.
    private mutating func tag() throws(ToolError) -> (name: String, isEmpty: Bool) {
        try skipBlanksAndComments()
        guard skip("<") else { throw error("expected an element") }
        let name = rest.prefix { !" \t\r\n/>".utf8.contains($0) }
        guard !name.isEmpty else { throw error("expected an element") }
        rest = rest[name.endIndex...]
        guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { throw error("a tag does not end") }
        let isEmpty = rest[..<end].last == UInt8(ascii: "/")
        rest = rest[(end + 1)...]
        return (String(decoding: name, as: UTF8.self), isEmpty)
    }

    private mutating func close(_ name: String) throws(ToolError) {
        try skipBlanksAndComments()
        guard skip("</\(name)") else { throw error("expected </\(Terminal.escaped(name))>") }
        skipBlanks()
        guard skip(">") else { throw error("expected </\(Terminal.escaped(name))>") }
    }

    /// Reads the text up to the end of an element.
    private mutating func text(of name: String) throws(ToolError) -> String {
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "&"): text += try entity().utf8
            case UInt8(ascii: "\r"):
                text.append(UInt8(ascii: "\n"))
                if rest.first == UInt8(ascii: "\n") { rest.removeFirst() }
            case UInt8(ascii: "<"):
                // Put the `<` back, because it belongs to the text that follows.
                rest = bytes[(rest.startIndex - 1)...]
                if skip("<![CDATA[") {
                    text += try readBytes(upTo: "]]>")
                } else if skip("<!--") {
                    _ = try readBytes(upTo: "-->")
                } else {
                    try close(name)
                    return String(decoding: text, as: UTF8.self)
                }
            default: text.append(byte)
            }
        }
        throw error("</\(Terminal.escaped(name))> is missing")
    }

    private mutating func entity() throws(ToolError) -> String {
        let name = String(decoding: rest.prefix(12).prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
        rest = rest.dropFirst(name.utf8.count)
        guard skip(";") else { throw error("'&' begins no entity") }
        if let text = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"][name] { return text }
        let number = name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst())
        guard name.hasPrefix("#"), let scalar = number.flatMap(Unicode.Scalar.init) else {
            throw error("&\(Terminal.escaped(name)); is not an entity of XML")
        }
        return String(scalar)
    }

    /// Skips blanks and comments.
    private mutating func skipBlanksAndComments() throws(ToolError) {
        skipBlanks()
        while skip("<!--") {
            _ = try readBytes(upTo: "-->")
            skipBlanks()
        }
    }

    private mutating func skipBlanks() { rest = rest.drop { " \t\r\n".utf8.contains($0) } }

    private mutating func readBytes(upTo end: String) throws(ToolError) -> ArraySlice<UInt8> {
        let begin = rest.startIndex
        while !rest.isEmpty {
            let here = rest.startIndex
            if skip(end) { return bytes[begin..<here] }
            rest.removeFirst()
        }
        throw error("\(end) is missing")
    }

    private mutating func skip(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }

    private func error(_ message: String) -> ToolError {
        let line = bytes[..<rest.startIndex].count { $0 == UInt8(ascii: "\n") } + 1
        return ToolError(.failed, "line \(line): \(message)")
    }
}
