package import SettingsModel

/// A request to undo a commit.
package struct UndoRequest: Equatable, Sendable {
    package var revision: Revision
    /// True to undo the commit even if later commits changed the same keys.
    package var isForced: Bool

    package init(_ revision: Revision, isForced: Bool = false) {
        self.revision = revision
        self.isForced = isForced
    }
}

extension UndoRequest: JSONBody {
    package init(json: JSONValue) throws(BodyError) {
        try self.init(ObjectReader(json, only: ["revision", "force"]))
    }

    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(try reader.required("revision"), isForced: try reader.flag("force"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("revision", revision)
        writer.flag("force", isForced)
    }
}

/// A request to restore earlier values: of all keys, of the given keys, or of the keys that begin with a prefix.
package struct RestoreRequest: Equatable, Sendable {
    package var moment: Moment
    package var prefix: String?
    package var keys: [KeyName]?

    package init(to moment: Moment, prefix: String? = nil, keys: [KeyName]? = nil) {
        self.moment = moment
        self.prefix = prefix
        self.keys = keys
    }
}

extension RestoreRequest: JSONBody {
    package init(json: JSONValue) throws(BodyError) {
        try self.init(ObjectReader(json, only: ["to", "prefix", "keys"]))
    }

    package init(_ reader: ObjectReader) throws(BodyError) {
        let keys: [KeyName]? = try reader.optional("keys")
        self.init(to: try reader.required("to"), prefix: try reader.optional("prefix"), keys: keys)
        guard prefix == nil || keys == nil else { throw BodyError("must have only one of prefix and keys (got both)") }
        if keys?.isEmpty ?? false {
            throw BodyError("must have at least one key (got an empty array)").inMember("keys")
        }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("to", moment)
        writer.member("prefix", prefix)
        writer.member("keys", keys)
    }
}
