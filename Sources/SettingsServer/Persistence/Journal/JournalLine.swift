internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// A line of a journal: an object whose first member is the CRC-32C of all that comes after it in the line.
///
///     {"crc":"0badcafe","journal":1,"epoch":"7f3a…","revision":16,"after":16,"durability":"always",…}
///     {"crc":"1a2b3c4d","after":16,"synced":true,"commit":{"revision":17,…}}
///     {"crc":"5e6f7a8b","after":17,"closed":true}
///
/// `after` names the commit before, so that a line that is missing is noticed. `synced` says that everything before the
/// line was on disk before the line was written: it stands on the first line of each batch that a sync covers. Behind
/// the last line there may be zeros, which is room for lines to come.
enum JournalLine {
    /// What stands before the digits of the check.
    static let opening: StaticString = "{\"crc\":\""
    /// What stands between the digits and what they check.
    static let separator: StaticString = "\","
    /// Where what is checked begins.
    static let checkedFrom = 18

    /// How many of the bytes up to a line end, or up to the end of the file, are a sound line; nil if it is not as it
    /// was written. The check does not cover the line end: behind the last line it may be missing, or be another byte.
    static func length(of bytes: Span<UInt8>, isTerminated: Bool) -> Int? {
        if isTerminated { return isSound(bytes) ? bytes.count : nil }
        let written = bytes.countBeforeZeros
        return [written, written - 1].first { $0 > 0 && isSound(bytes.extracting(0..<$0)) }
    }

    /// Whether the line is as it was written.
    static func isSound(_ line: Span<UInt8>) -> Bool {
        let digits = opening.utf8CodeUnitCount..<(opening.utf8CodeUnitCount + 8)
        guard line.count > checkedFrom, line.extracting(0..<digits.lowerBound).consists(of: opening),
            line.extracting(digits.upperBound..<checkedFrom).consists(of: separator)
        else { return false }
        return CRC32C(of: line.extracting(checkedFrom..<line.count)).isWritten(as: line.extracting(digits))
    }
}

/// What a line behind the head tells.
struct JournalEntry {
    /// What a line can hold.
    enum Content {
        /// A commit, not yet looked into, with its revision.
        case commit(JSONValue, Revision)
        /// The daemon stopped as it should.
        case closed
    }

    /// The commit before.
    var after: Revision
    /// Whether everything before the line was on disk before it was written.
    var followsSync: Bool
    var content: Content

    /// Reads a sound line; nil if it has no form that is known here.
    init?(_ json: JSONValue) {
        guard let after = json["after"]?.integer.flatMap({ Revision($0) }) else { return nil }
        self.after = after
        if let commit = json["commit"], let revision = commit["revision"]?.integer.flatMap({ Revision($0) }) {
            content = .commit(commit, revision)
            followsSync = json["synced"]?.bool ?? false
        } else if json["closed"]?.bool == true {
            content = .closed
            followsSync = true
        } else {
            return nil
        }
    }
}

extension Span<UInt8> {
    /// Whether these bytes are this text.
    func consists(of text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { buffer in
            for index in 0..<buffer.count where buffer[index] != self[index] { return false }
            return true
        }
    }

    /// How many bytes there are before the zeros at the end.
    var countBeforeZeros: Int {
        var end = count
        while end > 0, self[end - 1] == 0 { end -= 1 }
        return end
    }
}
