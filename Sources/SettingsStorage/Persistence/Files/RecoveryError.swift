package import Platform

/// The reason why a data directory cannot be used.
package struct RecoveryError: Error, Hashable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// Another process has the directory.
        case locked
        /// The system does not let it be used.
        case inaccessible
        /// Something in it is damaged or missing.
        case damaged
        /// A newer version wrote it.
        case fromTheFuture
    }

    /// A place in a damaged file.
    package struct Place: Hashable, Sendable {
        /// The file's name in its directory.
        package var file: String
        /// The line, from 1; nil where the file as a whole is meant.
        package var line: Int?
        /// The beginning of the line.
        package var offset: Int
    }

    package let kind: Kind
    /// What is wrong and where in the file, without what to do.
    let reason: String
    /// What is wrong, where, and what to do.
    package let description: String
    /// The place, if it is one in a file.
    package let place: Place?

    package init(_ kind: Kind, _ description: String, reason: String? = nil, place: Place? = nil) {
        self.kind = kind
        self.description = description
        self.reason = reason ?? description
        self.place = place
    }

    package init(_ error: FileError) {
        self.init(.inaccessible, "\(error); the daemon must be able to read and write there")
    }

    static func fromTheFuture(_ path: String, format: Int64) -> RecoveryError {
        RecoveryError(
            .fromTheFuture,
            "\(path) is of format \(format), which a newer version writes; run that version, or use another directory",
            reason: "it is of format \(format)")
    }

    /// What is wrong, behind the file that it is in.
    var located: String { (place.map { "\($0.file), " } ?? "") + reason }
}

extension DataDirectory {
    /// The error for a file that is not as it was written, or does not follow from the others.
    func damage(_ name: String, line: Int? = nil, offset: Int = 0, _ reason: String) -> RecoveryError {
        let place = line.map { ", line \($0), at byte \(offset)" } ?? ""
        return RecoveryError(
            .damaged,
            "\(self.path(of: name))\(place): \(reason). Nothing was changed. Look with 'settingsd check \(path)', restore a "
                + "copy, or have 'settingsd repair \(path)' cut what cannot be read",
            reason: (line.map { "line \($0), at byte \(offset): " } ?? "") + reason,
            place: RecoveryError.Place(file: name, line: line, offset: offset))
    }

    /// Calls the file system, for a reader of the directory.
    package func reading<Result>(_ body: () throws(FileError) -> Result) throws(RecoveryError) -> Result {
        do throws(FileError) {
            return try body()
        } catch {
            throw RecoveryError(error)
        }
    }

    /// Gives a process of root the rights of the user who owns the directory, so that the daemon can read the files that the
    /// process creates.
    package func assumeOwner() throws(RecoveryError) {
        try reading { () throws(FileError) in try ProcessUser.assumeOwner(of: path) }
    }
}
