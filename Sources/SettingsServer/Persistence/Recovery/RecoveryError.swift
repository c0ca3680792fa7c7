import Platform

/// Why a data directory cannot be used.
package struct RecoveryError: Error, Hashable, CustomStringConvertible {
    /// What kind of reason it is.
    package enum Kind: Sendable {
        /// Another process has the directory.
        case locked
        /// The system does not let it be used.
        case inaccessible
        /// What is there is damaged.
        case damaged
        /// What is there was written by a newer version.
        case fromTheFuture
    }

    /// Where a file is damaged.
    package struct Place: Hashable, Sendable {
        /// The file's name in its directory.
        package var file: String
        /// The line, from 1; nil where the file as a whole is meant.
        package var line: Int?
        /// Where the line begins.
        package var offset: Int
    }

    package let kind: Kind
    /// What is wrong and where, without what to do.
    let reason: String
    /// What is wrong, where, and what to do.
    package let description: String
    /// Where, if it is one place in a file.
    package let place: Place?

    package init(_ kind: Kind, _ description: String, reason: String? = nil, place: Place? = nil) {
        self.kind = kind
        self.description = description
        self.reason = reason ?? description
        self.place = place
    }

    init(_ error: FileError) {
        self.init(.inaccessible, "\(error); the daemon must be able to read and write there")
    }

    static func fromTheFuture(_ path: String, format: Int64) -> RecoveryError {
        RecoveryError(
            .fromTheFuture,
            "\(path) is of format \(format), which a newer version writes; run that version, or use another directory")
    }
}

extension DataDirectory {
    /// That a file is not as it was written, or does not follow from the others.
    func damage(_ name: String, line: Int? = nil, offset: Int = 0, _ reason: String) -> RecoveryError {
        let place = line.map { ", line \($0), at byte \(offset)" } ?? ""
        return RecoveryError(
            .damaged,
            "\(self.path(of: name))\(place): \(reason). Nothing was changed. Look with 'settingsd check \(path)', restore a "
                + "copy, or have 'settingsd repair \(path)' cut what cannot be read",
            reason: (line.map { "line \($0), at byte \(offset): " } ?? "") + reason,
            place: RecoveryError.Place(file: name, line: line, offset: offset))
    }
}
