/// Where an observer goes on: what `since` may be.
public enum ResumePoint: Hashable, Sendable {
    /// A place in a history that is checked to be the same.
    case cursor(Cursor)
    /// A bare revision, trusting that the history is the same.
    case revision(Revision)

    /// Reads a cursor or a bare revision; nil if the text is neither.
    public init?(_ text: String) {
        if let cursor = Cursor(text) {
            self = .cursor(cursor)
        } else if let revision = Revision(text) {
            self = .revision(revision)
        } else {
            return nil
        }
    }

    /// The last commit that the observer knows.
    public var revision: Revision {
        switch self {
        case .cursor(let cursor): cursor.revision
        case .revision(let revision): revision
        }
    }
}

extension ResumePoint: CustomStringConvertible {
    /// The text that reads back as this.
    public var description: String {
        switch self {
        case .cursor(let cursor): cursor.description
        case .revision(let revision): revision.description
        }
    }
}
