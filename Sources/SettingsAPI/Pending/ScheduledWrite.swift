package import SettingsModel

/// A write that the daemon will carry out later: a command, its preconditions, and the rights of the caller.
package struct ScheduledWrite: Equatable, Sendable {
    package let command: WriteCommand
    package let guards: [WriteGuard]
    /// True if the write may change keys that the schema locks.
    package let overridesLocks: Bool
    /// The grants of the caller when it scheduled the write; nil if access control was off.
    package let grants: [String]?

    package init(_ command: WriteCommand, guards: [WriteGuard], overridesLocks: Bool, grants: [String]?) {
        self.command = command
        self.guards = guards
        self.overridesLocks = overridesLocks
        self.grants = grants
    }
}

extension ScheduledWrite: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            try reader.required("command"), guards: try reader.list("guards"),
            overridesLocks: try reader.flag("overridesLocks"), grants: try reader.optional("grants"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("command", command)
        writer.member("guards", unlessEmpty: guards)
        writer.flag("overridesLocks", overridesLocks)
        writer.member("grants", grants)
    }
}

/// A precondition about the setting, suite or schema that a write names, from `If-Match` or `If-None-Match`.
package enum WriteGuard: Equatable, Sendable {
    /// The setting, suite or schema has one of these revisions.
    case isAt([Revision])
    /// The setting, suite or schema has none of these revisions.
    case isNotAt([Revision])
    /// The suite or schema exists, or the setting has a stored value.
    case exists
    /// The suite or schema does not exist, or the setting has no stored value.
    case isAbsent
}

extension WriteGuard: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        if let revisions: [Revision] = try reader.optional("isAt") {
            self = .isAt(revisions)
        } else if let revisions: [Revision] = try reader.optional("isNotAt") {
            self = .isNotAt(revisions)
        } else {
            self = try reader.required("exists") as Bool ? .exists : .isAbsent
        }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        switch self {
        case .isAt(let revisions): writer.member("isAt", revisions)
        case .isNotAt(let revisions): writer.member("isNotAt", revisions)
        case .exists: writer.member("exists", true)
        case .isAbsent: writer.member("exists", false)
        }
    }
}
