public import SettingsModel

/// The caller of a request: its name and its grants.
public struct CallerState: Equatable, Sendable {
    /// The name, such as `token:ci`, `user:alice` or `anonymous`. Each commit of the caller contains the name.
    public var name: String
    /// The grants, such as `app.*:read,write`.
    public var grants: [String]
    /// The time from which the credential is no longer valid; nil if it does not expire.
    public var expires: Timestamp?

    package init(name: String, grants: [String], expires: Timestamp? = nil) {
        self.name = name
        self.grants = grants
        self.expires = expires
    }
}

extension CallerState: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            name: try reader.required("name"), grants: try reader.list("grants"),
            expires: try reader.optional("expires"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("grants", grants)
        writer.member("expires", expires)
    }
}

/// The result of reading the configuration again.
public struct ReloadReport: Equatable, Sendable {
    /// The options whose value has changed and takes effect only after a restart.
    public var needsRestart: [String]
    /// The suites whose schema files were refused, with the reason. A refused file does not change the suite.
    public var refusedSchemas: [SuiteName: Problem]

    package init(needsRestart: [String] = [], refusedSchemas: [SuiteName: Problem] = [:]) {
        self.needsRestart = needsRestart
        self.refusedSchemas = refusedSchemas
    }
}

extension ReloadReport: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(needsRestart: try reader.list("needsRestart"))
        let refused: JSONValue? = try reader.optional("refusedSchemas")
        for member in try refused?.members ?? [:] {
            refusedSchemas[try SuiteName(json: .string(member.name))] = Problem(
                status: Int(member.value["status"]?.integer ?? 0), body: member.value)
        }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("reloaded", true)
        writer.member("needsRestart", needsRestart)
        if !refusedSchemas.isEmpty {
            writer.name("refusedSchemas")
            writer.beginObject()
            for (suite, problem) in refusedSchemas.sorted(by: { $0.key < $1.key }) {
                writer.member(named: suite.text, problem)
            }
            writer.endObject()
        }
    }
}
