import SettingsHTTP
import SettingsModel

/// A property list whose root is a dictionary of settings, in XML or binary, as the command `defaults export` of macOS
/// writes it.
///
/// In settings, a date is a text in the format of RFC 3339, and data is a text in Base64. Such a text is written as a
/// date or as data if the schema of the key has the format `date-time` or the encoding `base64`, and if reading the
/// date or data gives the same text. The code does not use Foundation, because Foundation would make the program five
/// times as large, and because Foundation treats two Unicode spellings of é in keys as equal.
enum PropertyList {
    /// The maximum number of nested arrays and dictionaries.
    static let maximumDepth = JSONValue.maximumDepthAroundValues

    /// Reads the settings of a property list in either form.
    static func settings(of bytes: [UInt8]) throws(ToolError) -> [StoredSetting] {
        let isBinary = bytes.starts(with: BinaryPropertyListReader.magic)
        let root = isBinary ? try BinaryPropertyListReader.read(bytes) : try XMLPropertyListReader.read(bytes)
        guard root.object != nil else { throw ToolError(.failed, "the file is not a dictionary of keys") }
        return try StoredSetting.all(of: root)
    }

    /// Returns a property list with settings. Throws an error that names each key whose value a property list cannot
    /// represent.
    static func bytes(of settings: [StoredSetting], isBinary: Bool, schema: Schema?) throws(ToolError) -> [UInt8] {
        let problems = settings.compactMap { setting in
            problem(of: .object([setting.key.text: setting.value]), isBinary: isBinary).map {
                "  \(setting.key): \($0)"
            }
        }
        try ToolError.requireNoProblems(problems, format: "a property list")
        let root = JSONValue.object(JSONObject(settings))
        let partSchemas = PartSchemas { name in schema?.key(name)?.document }
        guard isBinary else {
            var writer = XMLPropertyListWriter()
            writer.write(root, partSchemas)
            return Array(writer.document.utf8)
        }
        var writer = BinaryPropertyListWriter()
        return writer.document(root, partSchemas)
    }

    /// The reason why a property list cannot represent a value; nil if it can represent the value.
    private static func problem(of value: JSONValue, isBinary: Bool) -> String? {
        switch value {
        case .null: "a property list has no null"
        case .bool, .integer, .double: nil
        case .string(let text):
            isBinary || text.unicodeScalars.allSatisfy(XMLPropertyListWriter.canRepresent)
                ? nil : "XML cannot represent a character of the text; --format bplist can"
        case .array(let elements): elements.lazy.compactMap { problem(of: $0, isBinary: isBinary) }.first
        case .object(let object):
            object.lazy.compactMap { member in
                problem(of: .string(member.name), isBinary: isBinary) ?? problem(of: member.value, isBinary: isBinary)
            }.first
        }
    }

    /// The schemas of the parts of a value: of the members of an object, and of the elements of an array.
    struct PartSchemas {
        /// Returns the schema of the member with a name.
        let member: (String) -> JSONValue?

        init(_ member: @escaping (String) -> JSONValue?) { self.member = member }

        /// Takes the schemas of the parts from the schema of the value.
        init(of schema: JSONValue?) {
            self.init { name in
                schema?["properties"]?[name] ?? schema?["additionalProperties"]
            }
            elements = schema?["items"]
        }

        /// The schema of the elements of an array.
        var elements: JSONValue?
    }

    /// The date or the data that a text represents, because JSON has no types for them.
    enum DateOrData {
        /// Seconds since 2001.
        case date(Double)
        case data([UInt8])

        /// Nil unless the schema declares a date or data, and reading the date or data gives the same text.
        init?(_ text: String, _ schema: JSONValue?) {
            if schema?["format"] == "date-time", let seconds = PropertyListDate.seconds(of: text),
                PropertyListDate.text(of: seconds)?.hasSameBytes(as: text) == true
            {
                self = .date(seconds)
            } else if schema?["contentEncoding"] == "base64", let bytes = Base64.bytes(of: text) {
                self = .data(bytes)
            } else {
                return nil
            }
        }
    }
}

/// Conversion between the dates of property lists, which are seconds since 2001, and texts.
enum PropertyListDate {
    /// Returns the shortest text from which ``seconds(of:)`` reads the same number. Returns nil outside the years 0 to
    /// 9999, and if no fraction of at most 17 digits gives the same number, as for some numbers close to 0.
    static func text(of seconds: Double) -> String? {
        let whole = seconds.rounded(.down)
        guard (-63_113_904_000..<252_423_993_600).contains(whole) else { return nil }
        let (days, wholeSeconds) = (Int((whole / 86_400).rounded(.down)), Int(whole))
        let date = CivilDate(daysSince2001: days)
        let secondOfDay = wholeSeconds - days * 86_400
        let parts = [
            (date.month, "-"), (date.day, "T"), (secondOfDay / 3600, ":"), (secondOfDay / 60 % 60, ":"),
            (secondOfDay % 60, ""),
        ]
        let start = digits(date.year, 4) + "-" + parts.map { digits($0.0, 2) + $0.1 }.joined()
        var scale = 1.0
        // 17 significant decimal digits distinguish all values of `Double`. The loop counts all digits of the fraction,
        // so for a number close to 0, 17 digits can be too few.
        for count in 0...17 {
            let fraction = ((seconds - whole) * scale).rounded()
            if fraction < scale {
                let end = count == 0 ? "" : "." + digits(Int(fraction), count)
                if Self.seconds(of: start + end + "Z") == seconds { return start + end + "Z" }
            }
            scale *= 10
        }
        return nil
    }

    /// Returns the seconds since 2001 of a text in the format of RFC 3339; nil for any other text.
    static func seconds(of text: String) -> Double? {
        guard let parsed = DateTimeSyntax(text) else { return nil }
        let fraction = Double("0." + String(decoding: parsed.time.fraction, as: UTF8.self) + "0") ?? 0
        return Double(parsed.secondsSince2001) + fraction
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}

/// Base64 with padding, which the keyword `contentEncoding` of a schema requires.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func text(of bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for digit in 0..<4 {
                text.append(digit <= group.count ? alphabet[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes of a text; nil if the text is not Base64, or if encoding the bytes would give another text.
    static func bytes(of text: String) -> [UInt8]? {
        guard Base64Text.isValid(text) else { return nil }
        var (bytes, bits, count) = ([UInt8](), 0, 0)
        for byte in text.utf8 {
            guard let value = values[Int(byte)] else { break }
            (bits, count) = (bits << 6 | value, count + 6)
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            bits &= (1 << count) - 1
        }
        return bytes
    }

    private static let values: [Int?] = {
        var values = [Int?](repeating: nil, count: 256)
        for (value, byte) in alphabet.enumerated() { values[Int(byte)] = value }
        return values
    }()
}
