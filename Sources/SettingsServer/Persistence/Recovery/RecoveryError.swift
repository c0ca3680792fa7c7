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

    package let kind: Kind
    /// What is wrong, where, and what to do.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    init(_ error: FileError) {
        self.init(.inaccessible, "\(error); the daemon must be able to read and write there")
    }
}
