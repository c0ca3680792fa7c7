internal import SettingsModel

/// A line of a journal: an object whose first member is the CRC-32C of all that comes after it in the line.
///
///     {"crc":"0badcafe","journal":1,"epoch":"7f3a…","revision":16,"after":16,"durability":"always"}
///     {"crc":"1a2b3c4d","after":16,"synced":true,"commit":{"revision":17,…}}
///     {"crc":"5e6f7a8b","after":17,"closed":true}
///
/// `after` names the commit before, so that a line that is missing is noticed. `synced` says that everything before the
/// line was on disk before the line was written: it stands on the first line of each batch that a sync covers.
enum JournalLine {
    /// What stands before the digits of the check.
    static let opening: StaticString = "{\"crc\":\""
    /// What stands between the digits and what they check.
    static let separator: StaticString = "\","
    /// Where what is checked begins.
    static let checkedFrom = 18

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

    /// Whether all of the bytes are zeros.
    var holdsNothing: Bool {
        for index in 0..<count where self[index] != 0 { return false }
        return true
    }

    /// Whether one of the bytes is zero, as none is in JSON.
    var holdsZero: Bool {
        for index in 0..<count where self[index] == 0 { return true }
        return false
    }
}
