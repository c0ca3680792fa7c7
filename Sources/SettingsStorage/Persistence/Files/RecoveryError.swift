package import Platform

/// An error that prevents the use of a data directory.
package struct RecoveryError: Error, Hashable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// Another process holds the lock of the directory.
        case locked
        /// An operation of the file system failed, for example because a permission is missing.
        case inaccessible
        /// A file in the directory is damaged or missing.
        case damaged
        /// A newer version of the daemon wrote a file in the directory.
        case newerFormat
    }

    /// A location in a damaged file.
    package struct Location: Hashable, Sendable {
        /// The name of the file in the data directory.
        package var file: String
        /// The number of the line, counted from 1; nil if the error concerns the file as a whole.
        package var line: Int?
        /// The byte offset in the file at which the damaged line begins; 0 if `line` is nil.
        package var offset: Int
    }

    package let kind: Kind
    /// The cause, with the line number if there is one, but without the path and the remedy. If the initializer gets no
    /// reason, the same text as ``description``.
    let reason: String
    /// The complete message: the path of the file, the cause and the remedy.
    package let description: String
    /// The location of the damage. Nil if ``kind`` is not `damaged`, or if the error does not concern a single file.
    package let location: Location?

    package init(_ kind: Kind, _ description: String, reason: String? = nil, location: Location? = nil) {
        (self.kind, self.description, self.reason, self.location) = (kind, description, reason ?? description, location)
    }

    package init(_ error: FileError) {
        self.init(.inaccessible, "\(error); the daemon must be able to read and write this path")
    }

    static func newerFormat(_ path: String, format: Int64) -> RecoveryError {
        RecoveryError(
            .newerFormat,
            "\(path) has format \(format), which a newer version wrote; run that version, or use another directory",
            reason: "the file has format \(format)")
    }

    /// ``reason``, preceded by the name of the damaged file if there is one.
    var locatedReason: String { (location.map { "\($0.file), " } ?? "") + reason }
}

extension DataDirectory {
    /// Returns the error for a file that was changed after it was written, or contradicts the other files.
    func damage(_ name: String, line: Int? = nil, offset: Int = 0, _ reason: String) -> RecoveryError {
        let location = line.map { ", line \($0), at byte \(offset) of the file" } ?? ""
        return RecoveryError(
            .damaged,
            "\(self.path(of: name))\(location): \(reason). Nothing was changed. Run 'settingsd check \(path)', "
                + "restore a copy of the directory, or run 'settingsd repair \(path)' to remove unreadable data",
            reason: (line.map { "line \($0), at byte \(offset) of the file: " } ?? "") + reason,
            location: RecoveryError.Location(file: name, line: line, offset: offset))
    }

    /// Calls a function and converts the `FileError` that it throws into a `RecoveryError`.
    package func mapErrors<Result>(_ body: () throws(FileError) -> Result) throws(RecoveryError) -> Result {
        do throws(FileError) {
            return try body()
        } catch {
            throw RecoveryError(error)
        }
    }

    /// If root runs a command such as `settingsd repair`, switches to the owner of the directory, so that the daemon
    /// can read the files that the command creates.
    package func switchUserToOwner() throws(RecoveryError) {
        try mapErrors { () throws(FileError) in try ProcessUser.switchToOwner(of: path) }
    }
}
