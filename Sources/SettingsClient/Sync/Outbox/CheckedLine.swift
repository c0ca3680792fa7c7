internal import Platform
internal import SettingsModel

/// A line of a file that notices damage: an object whose first member is the CRC-32C of all that comes after it.
///
///     {"crc":"0badcafe","write":1,"requestKey":"…","do":[…]}
enum CheckedLine {
    private static let opening = Array(#"{"crc":""#.utf8)
    private static let separator = Array(#"","#.utf8)
    private static let digitCount = 8
    /// Where what is checked begins.
    private static let checkedFrom = opening.count + digitCount + separator.count

    /// The line of an object that has members, with the line's end.
    static func line(of object: [UInt8]) -> [UInt8] {
        let rest = object.dropFirst()
        return opening + digits(of: rest) + separator + rest + [UInt8(ascii: "\n")]
    }

    /// What a line without its end holds; nil if it is not as it was written.
    static func object(in line: ArraySlice<UInt8>) -> JSONValue? {
        let checked = line.dropFirst(checkedFrom)
        guard !checked.isEmpty, line.starts(with: opening + digits(of: checked) + separator) else { return nil }
        return try? JSONValue(parsing: Array(line), maximumDepth: JSONValue.maximumDepthAroundValues)
    }

    private static func digits(of bytes: ArraySlice<UInt8>) -> [UInt8] {
        let digits = CRC32C(of: bytes.span).digits
        return digits.indices.map { digits[$0] }
    }
}

extension OpenFile {
    /// Locks the file; false if another program has it, or has removed it.
    func lockIfNamed() throws(FileError) -> Bool {
        guard try lock() else { return false }
        return try stands(at: path)
    }
}
