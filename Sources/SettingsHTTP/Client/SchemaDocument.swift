public import SettingsAPI
public import SettingsModel

/// The schema of a suite as it was sent to the daemon.
public struct SchemaDocument: Hashable, Sendable {
    /// The document; `Schema` understands it.
    public var document: JSONValue
    /// The commit that set it: what a guard of the next write of it names.
    public var revision: Revision

    package init(document: JSONValue, revision: Revision) {
        self.document = document
        self.revision = revision
    }
}
