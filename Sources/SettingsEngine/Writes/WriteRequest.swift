package import SettingsAPI
package import SettingsModel

/// A request to write, with the conditions under which it holds.
package struct WriteRequest: Sendable {
    /// Indirect, so that handing a request on copies a reference.
    package indirect enum Command: Sendable {
        /// One operation on one key.
        case setting(Transaction.Operation)
        /// A map merged into what is stored.
        case mergeSuite(SuiteName, JSONObject)
        /// A map that becomes what is stored.
        case replaceSuite(SuiteName, JSONObject)
        /// The stored values removed of keys that begin with a prefix.
        case resetSuite(SuiteName, prefix: String)
        /// The suite removed, with its schema.
        case dropSuite(SuiteName)
        /// A schema put in force.
        case setSchema(SuiteName, Schema, onConflict: ConflictPolicy)
        /// A document that is no schema, and its problem, which is the answer unless a guard does not hold.
        case refuseSchema(SuiteName, Problem)
        /// The schema removed.
        case removeSchema(SuiteName)
        /// Several operations, all or none.
        case transaction(Transaction)
        /// What a commit did to a suite undone, or to all suites that it touched.
        case undo(UndoRequest, of: SuiteName?, onConflict: ConflictPolicy)
        /// What is stored made what it was; without the values that the schema does not allow, if those are to be skipped.
        case restore(SuiteName, RestoreRequest, skipsConflicts: Bool)

        /// True for a removal that takes several commits if the suite is large.
        package var mayTakeSeveralCommits: Bool {
            switch self {
            case .resetSuite(_, let prefix): prefix.isEmpty
            case .dropSuite: true
            default: false
            }
        }
    }

    /// The way to treat stored values that a new schema does not allow.
    package enum ConflictPolicy: String, CaseIterable, Sendable {
        /// The schema is refused.
        case refuse
        /// They stay, as invalid ones.
        case keep
        /// They are removed.
        case reset
    }

    /// A condition on the setting, suite or schema that the request is about.
    package enum Guard: Equatable, Sendable {
        /// It has one of these revisions.
        case isAt([Revision])
        /// It has none of these revisions.
        case isNotAt([Revision])
        /// It is there.
        case exists
        /// It is not there.
        case isAbsent
    }

    package var command: Command
    package var guards: [Guard] = []
    /// True if the answer only says what would happen.
    package var isDryRun = false
    /// The grants of the writer, for what its request does not name; nil if it may do everything.
    package var grants: Grants?
    /// The grants of a writer that may not see everything: they bound what errors and comparisons tell.
    package var reader: Grants? { grants?.reader }
    /// True if locked keys may be written.
    package var overridesLocks = false
    /// The caller, and the reason that it gave.
    package var origin: CommitOrigin?
    /// The idempotency key, under which the request may be repeated.
    package var requestKey: RequestKey?
    /// The digest that tells a repeat of the request from another one under the same key.
    package var digest: String?
    /// The schema that allowed the value of a `set` as it is. While it is in force, the value is not checked again.
    package var checkedAgainst: SchemaVersion?
    /// The bytes that the request keeps in memory.
    package var size = 0
    /// The steps of checking values that deciding it may take, beside some for each key: some hundred milliseconds.
    package var steps = 2_000_000

    /// What an undo or a restore needs of the past that is not in memory, if it was read.
    package var past: Past?

    /// What was read of the past. An object, as hardly any request has one and each would have the room for it.
    package final class Past: Sendable {
        /// The commit to undo.
        let commit: KeptCommit?
        /// Later commits that changed the same, oldest first.
        let later: [KeptCommit]
        /// The suite to restore, as it was.
        let suite: Suite?

        package init(commit: KeptCommit, later: [KeptCommit]) {
            (self.commit, self.later, suite) = (commit, later, nil)
        }

        package init(suite: Suite) {
            (commit, later, self.suite) = (nil, [], suite)
        }
    }

    /// About the bytes that a request keeps in memory beside its body.
    package static let overhead = 512
}

extension WriteRequest {
    package init(_ command: Command) {
        self.init(command: command)
    }
}

/// An answer to a write.
package struct WriteAnswer: Sendable {
    /// Large cases are indirect, so that handing an answer on copies a reference.
    package enum Body: Sendable {
        /// One setting as it is now.
        indirect case setting(SettingState)
        /// One setting as it is after the only change of the commit, with which it shares the array.
        case change([Change])
        indirect case summary(WriteSummary)
    }

    package var body: Body
    /// True if something is stored, or a schema in force, where nothing was before.
    package var created: Bool
    /// The place in history that the answer is true at.
    package var cursor: Cursor
    /// The revision of a suite or schema after a write of it, zero if it is gone; nil for any other write.
    package var tag: Revision?
    /// The commit that the answer is about; nil if there is none.
    package var commit: Revision?
    /// The part of the request that further commits have to do; nil if it is complete.
    package var remainder: Remainder?

    /// A class, so that an answer without a remainder stores only a nil reference.
    package final class Remainder: Sendable {
        package let request: WriteRequest

        init(_ request: WriteRequest) {
            self.request = request
        }
    }

    package init(
        _ body: Body, created: Bool = false, cursor: Cursor, tag: Revision? = nil, commit: Revision? = nil
    ) {
        self.body = body
        self.created = created
        self.cursor = cursor
        self.tag = tag
        self.commit = commit
    }

    /// The cost of rendering the answer.
    package func renderingCost(within limit: Cost) -> Cost {
        var meter = CostMeter(within: limit)
        switch body {
        case .setting(let setting):
            meter.add(setting.value, each: .renderedUnit)
            meter.add(setting.previous?.value, each: .renderedUnit)
        case .change(let changes): Self.addRenderingCost(of: changes, to: &meter)
        case .summary(let summary): Self.addRenderingCost(of: summary.changes, to: &meter)
        }
        return meter.cost
    }

    private static func addRenderingCost(of changes: [Change], to meter: inout CostMeter) {
        // A span, because a loop over the array would copy each change.
        let changes = changes.span
        for index in changes.indices where !meter.isExceeded {
            meter.add((4 + changes[index].key.text.utf8.count / 8) * .renderedUnit)
            meter.add(changes[index].old, each: .renderedUnit)
            meter.add(changes[index].new, each: .renderedUnit)
        }
    }
}
