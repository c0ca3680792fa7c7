package import SettingsAPI
package import SettingsModel

/// A schema in force, compiled once and shared by whoever looks at the suite. Two suites or moments have the same
/// schema exactly if they have the same object.
package final class SchemaVersion: Sendable {
    /// The schema.
    package let schema: Schema
    /// The commit that set it.
    package let revision: Revision

    package init(_ schema: Schema, revision: Revision) {
        self.schema = schema
        self.revision = revision
    }
}
