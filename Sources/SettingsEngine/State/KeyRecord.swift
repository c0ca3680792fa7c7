package import SettingsAPI
package import SettingsModel

/// What is held of one key: a stored value or none, and since when it stands as it does.
///
/// There is one for each key with a value, and for each key that the schema lists. Millions of these may be held, so
/// what can be had from the schema is not repeated here.
package struct KeyRecord: Hashable, Named {
    /// How a key stands; ``Source`` without the names of newer servers, in one byte.
    package enum Standing: UInt8, Sendable {
        case stored, `default`, unset, invalid
    }

    /// The key.
    package let key: KeyName
    /// What is stored, fitting or not; nil if nothing is.
    package var stored: JSONValue?
    /// How the key stands.
    package var standing: Standing
    /// The last commit that changed the effective value, the source or the validity.
    package var revision: Revision
    /// When that commit was made.
    package var modified: Timestamp
    /// Whether what is stored is a secret, whatever the schema says now: the key was one since it was written.
    package var isSecret: Bool

    package init(
        key: KeyName, stored: JSONValue?, standing: Standing, revision: Revision, modified: Timestamp,
        isSecret: Bool = false
    ) {
        self.key = key
        self.stored = stored
        self.standing = standing
        self.revision = revision
        self.modified = modified
        self.isSecret = isSecret
    }

    package var name: String { key.text }
}

extension KeyRecord.Standing {
    /// The standing that a source names; nil for one of a newer server, which no journal of this one holds.
    package init?(_ source: Source) {
        switch source {
        case .stored: self = .stored
        case .default: self = .default
        case .unset: self = .unset
        case .invalid: self = .invalid
        case .unknown: return nil
        }
    }

    /// The name that the wire has for it.
    package var source: Source {
        switch self {
        case .stored: .stored
        case .default: .default
        case .unset: .unset
        case .invalid: .invalid
        }
    }
}
