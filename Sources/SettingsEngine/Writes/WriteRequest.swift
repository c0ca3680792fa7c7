package import SettingsAPI
package import SettingsModel

/// What somebody wants to have written, with the conditions under which.
package struct WriteRequest: Sendable {
    /// What is to be done.
    package enum Command: Sendable {
        /// One operation on one key.
        case setting(Transaction.Operation)
        /// A map merged into what is stored.
        case mergeSuite(SuiteName, JSONObject)
        /// A map that becomes what is stored.
        case replaceSuite(SuiteName, JSONObject)
        /// Stored values removed: those of keys that begin so.
        case resetSuite(SuiteName, prefix: String)
        /// The suite removed, with its schema.
        case dropSuite(SuiteName)
        /// A schema put in force.
        case setSchema(SuiteName, Schema, onConflict: ConflictPolicy)
        /// A document that is no schema: refused, unless a guard does not hold, which is told before.
        case refuseSchema(SuiteName, Problem)
        /// The schema removed.
        case removeSchema(SuiteName)
        /// Several operations, all or none.
        case transaction(Transaction)
    }

    /// What becomes of stored values that a new schema does not allow.
    package enum ConflictPolicy: String, CaseIterable, Sendable {
        /// The schema is refused.
        case refuse
        /// They stay, without being anybody's value.
        case keep
        /// They are removed.
        case reset
    }

    /// What must hold of the setting, suite or schema that the request is about.
    package enum Guard: Hashable, Sendable {
        /// It has one of these revisions.
        case isAt([Revision])
        /// It has none of these revisions.
        case isNotAt([Revision])
        /// It is there.
        case exists
        /// It is not there.
        case isAbsent
    }

    /// What is to be done.
    package var command: Command
    /// What must hold before.
    package var guards: [Guard] = []
    /// Whether to answer only what would happen.
    package var isDryRun = false
    /// Whether locked keys may be written.
    package var overridesLocks = false
    /// What the caller names the request by, to be able to ask again.
    package var requestKey: RequestKey?
    /// Tells a repeat of the request from another one under the same key.
    package var digest: String?
    /// The schema that the value of a `set` was checked against and passed as it is, which need not be done again while
    /// that is in force.
    package var checkedAgainst: SchemaVersion?
    /// How many bytes the request keeps in memory.
    package var size = 0

    /// What a request keeps in memory beside its body, about.
    package static let overhead = 512

    package init(_ command: Command) {
        self.command = command
    }
}

/// What a write was answered.
package struct WriteAnswer: Sendable {
    /// What the answer tells.
    package enum Body: Sendable {
        /// One setting as it is now.
        case setting(SettingState)
        /// What changed.
        case summary(WriteSummary)
    }

    /// What the answer tells.
    package var body: Body
    /// Whether something is stored, or a schema in force, where nothing was before.
    package var created: Bool
    /// The place in history that the answer is true at.
    package var cursor: Cursor
    /// What a suite or schema goes by after a write of it, zero if it is gone; nil for any other write.
    package var tag: Revision?
    /// The commit that the answer tells of; nil if there is none.
    package var commit: Revision?

    package init(
        _ body: Body, created: Bool = false, cursor: Cursor, tag: Revision? = nil, commit: Revision? = nil
    ) {
        self.body = body
        self.created = created
        self.cursor = cursor
        self.tag = tag
        self.commit = commit
    }
}
