/// Which values of a suite are asked for.
public enum ValueView: String, Hashable, Sendable {
    /// What a reader gets: the stored value, else the default.
    case effective
    /// Stored values alone.
    case stored
    /// Defaults alone.
    case `default`
}
