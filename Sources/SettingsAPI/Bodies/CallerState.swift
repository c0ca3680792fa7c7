package import SettingsModel

/// A caller as the daemon knows it: the name that its commits carry, and its grants.
public struct CallerState: Equatable, Sendable {
    /// The name, as `token:ci`, `user:alice` or `anonymous`.
    public var name: String
    /// The grants, as `app.*:read,write`.
    public var grants: [String]
    /// The instant from which on the credential is not valid; nil if there is none.
    public var expires: Timestamp?

    package init(name: String, grants: [String], expires: Timestamp? = nil) {
        self.name = name
        self.grants = grants
        self.expires = expires
    }
}

extension CallerState: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            name: try reader.required("name"), grants: try reader.list("grants"),
            expires: try reader.optional("expires"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", name)
        writer.member("grants", grants)
        writer.member("expires", expires)
        writer.endObject()
    }
}

/// A report on a configuration that was read again.
public struct ReloadReport: Equatable, Sendable {
    /// The options that have another value now, which counts from the next start on.
    public var needsRestart: [String]

    package init(needsRestart: [String] = []) {
        self.needsRestart = needsRestart
    }
}

extension ReloadReport: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        self.init(needsRestart: try ObjectReader(json).list("needsRestart"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("reloaded", true)
        writer.member("needsRestart", needsRestart)
        writer.endObject()
    }
}
