internal import SettingsModel

/// Whose a file is.
struct KeptOwner: Hashable, Sendable {
    /// The address of the server.
    let server: String
    let suite: SuiteName
}
