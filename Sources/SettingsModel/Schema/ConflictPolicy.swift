/// The treatment of stored values that a new schema does not fit.
public enum ConflictPolicy: String, Hashable, Sendable {
    /// The schema is refused with all conflicts.
    case refuse
    /// They stay as they are, invalid until a schema fits them again.
    case keep
    /// They are taken away.
    case reset
}
