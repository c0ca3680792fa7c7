package import SettingsAPI
package import SettingsModel

/// A write that a client or the daemon itself requests: a task, its preconditions, and the rights of the caller. A
/// suite is a named set of settings. To decide a write is to check it against a state, and to compute its commit (an
/// atomic change of settings) or its refusal.
package struct WriteRequest: Sendable {
    /// The work of a write. The large cases are indirect, so that a copy of the request copies a reference.
    package enum Task: Sendable {
        case command(WriteCommand)
        /// Refuses a document that is not a valid schema. The answer is the error `Problem`. If a ``WriteGuard`` (a
        /// precondition such as `If-Match`) does not hold, the answer is the error of the guard.
        indirect case refuseSchema(SuiteName, Problem)
        /// A request of a client about a pending action: a revert or a write that the daemon carries out at a deadline.
        indirect case pending(PendingID, PendingRequest)
        /// Carries out a pending action, unless the action has ended or has another deadline. The daemon itself makes
        /// this write.
        indirect case carryOut(PendingID, deadline: Timestamp)
    }

    package var task: Task
    /// The command of the write; nil if the task is not a command.
    package var command: WriteCommand? { if case .command(let command) = task { command } else { nil } }
    /// True if the write removes all keys of a suite. The daemon splits such a write into several commits if the suite
    /// has more keys than one commit may change.
    package var mayTakeSeveralCommits: Bool {
        switch command {
        case .resetSuite(_, let prefix): prefix.isEmpty
        case .dropSuite: true
        default: false
        }
    }
    package var guards: [WriteGuard] = []
    /// True if the write must change nothing, and the answer shows the changes that it would make.
    package var isDryRun = false
    /// The rights of the caller on suites and keys; nil if the caller may do everything. Deciding the write checks the
    /// rights on keys that the request does not name, such as the keys of an undo.
    package var grants: Grants?
    /// The grants of a caller that may not read everything; nil if the caller may read everything.
    package var restrictedGrants: Grants? { grants?.restrictedGrants }
    /// True if the write may change keys that a schema locks (declares read-only).
    package var overridesLocks = false
    /// The name of the caller, and the reason that it gave for the write.
    package var origin: CommitOrigin?
    /// The `Idempotency-Key` of the request. A repeated request with this key gets the answer to the first request.
    package var requestKey: RequestKey?
    /// A digest of the request. A later request with the same request key is a repeat if it has the same digest.
    package var digest: String?
    /// The schema against which the value of a `set` was validated, without violations, before the write was queued;
    /// nil if the value was not validated. If the suite still has this schema, the decision does not repeat the
    /// validation.
    package var checkedAgainst: SchemaVersion?
    /// The number of bytes of memory that the request uses.
    package var size = 0
    /// The maximum number of validation steps, to which each key adds ``WriteDraft/stepsPerKey`` steps. Two million
    /// steps take some hundred milliseconds. All later writes wait during this time.
    package var steps = 2_000_000

    /// The data that an undo or a restore needs from past files, which have older commits than the history in memory;
    /// nil if the write needs no past file.
    package var pastFileData: PastFileData?

    /// Data from past files. `PastFileData` is a class, so that most requests store only a nil reference.
    package final class PastFileData: Sendable {
        /// The commit to undo; nil for a restore.
        let commit: RetainedCommit?
        /// Commits after the commit to undo that changed the same suites, oldest first.
        let later: [RetainedCommit]
        /// The suite as it was at the moment to restore; nil for an undo.
        let suite: Suite?

        package init(commit: RetainedCommit, later: [RetainedCommit]) {
            (self.commit, self.later, suite) = (commit, later, nil)
        }

        package init(suite: Suite) {
            (commit, later, self.suite) = (nil, [], suite)
        }
    }

    /// The deadlines of the write; nil for a write that takes effect now and stays in effect.
    package var deadlines: Deadlines?
    /// True if the daemon must not split the write into several commits. Only a single commit can be reverted.
    package var takesOneCommit = false

    /// The deadlines in the header fields of a request. `Deadlines` is a class, so that most requests store only a nil
    /// reference.
    package final class Deadlines: Sendable {
        /// The time after which the commit is reverted unless a client confirms it, in milliseconds.
        let confirm: Int64?
        /// The time at which the daemon reverts the commit.
        let until: PendingTime?
        /// The time at which the daemon carries out the write.
        let effective: PendingTime?

        package init(confirm: Int64?, until: PendingTime?, effective: PendingTime?) {
            (self.confirm, self.until, self.effective) = (confirm, until, effective)
        }

        /// Throws if the deadlines cannot be combined, or if the time to confirm is not a duration within its limits.
        package convenience init(
            confirmText: String?, until: PendingTime?, effective: PendingTime?
        ) throws(Problem) {
            guard let confirmText else {
                self.init(confirm: nil, until: until, effective: effective)
                return
            }
            guard until == nil, effective == nil else {
                throw Problem(
                    .badRequest,
                    "Settings-Confirm cannot be combined with Settings-Until or Settings-Effective; remove one of them")
            }
            guard let milliseconds = PendingTime.milliseconds(ofDuration: confirmText),
                (1000...PendingTime.maximumConfirmation).contains(milliseconds)
            else {
                throw Problem(
                    .badRequest,
                    "Settings-Confirm: must be 1 to 86400 seconds, or a duration such as 90s, 15m or 2h of at most a "
                        + "day (got \"\(confirmText)\")")
            }
            self.init(confirm: milliseconds, until: nil, effective: nil)
        }

        /// The deadlines as text. Requests with the same deadlines have equal texts. A later version of the daemon must
        /// make the same texts, because commits store digests of them.
        package var canonicalTexts: [String] {
            [
                confirm.map { "confirm \($0)" }, until.map { "until \($0.canonicalText)" },
                effective.map { "effective \($0.canonicalText)" },
            ].compactMap(\.self)
        }
    }

    /// An estimate of the memory in bytes that a request takes in addition to its body. The ``size`` of an HTTP request
    /// includes this estimate.
    package static let overhead = 512
}

extension WriteRequest {
    package init(_ command: WriteCommand) {
        self.init(task: .command(command))
    }

    package init(_ task: Task) {
        self.init(task: task)
    }
}

/// An answer to a write.
package struct WriteAnswer: Sendable {
    /// The content of an answer. The large cases are indirect, so that a copy of the answer copies a reference.
    package enum Body: Sendable {
        /// The setting in the answer to a dry run, to a write that changes nothing, or to a repeated request.
        indirect case setting(SettingState)
        /// The only change of a commit, which the answer shows as a setting. The array is the array of the commit, so
        /// that the change is not copied.
        case change([Change])
        /// The changes of a write that is not about a single setting.
        indirect case summary(WriteSummary)
    }

    package var body: Body
    /// True if the write stored a value for a key without a stored value, or set a schema for a suite without a schema.
    package var created: Bool
    /// The cursor (the name of a history, and the number of a commit in it) of the state that the answer describes.
    package var cursor: Cursor
    /// The revision of the suite or schema after a write to a whole suite or a schema, for the `ETag` of the answer.
    /// Zero if the suite was dropped; nil for a write of a setting, and for a write in several suites.
    package var tag: Revision?
    /// The revision of the commit of this write, or of the write that it repeats; nil if there is no commit.
    package var commit: Revision?
    /// The part of the request that further commits must carry out; nil if the request is complete.
    package var remainder: Remainder?
    /// The pending action that the write created, ended, or moved to another deadline; nil for nearly every write.
    package var pending: Pending?

    /// A description of a pending action. `Pending` is a class, so that most answers store only a nil reference.
    package final class Pending: Sendable {
        package let description: PendingDescription

        init(_ description: PendingDescription) {
            self.description = description
        }
    }

    /// The remaining part of a request. `Remainder` is a class, so that most answers store only a nil reference.
    package final class Remainder: Sendable {
        package let request: WriteRequest

        init(_ request: WriteRequest) {
            self.request = request
        }
    }

    package init(_ body: Body, created: Bool = false, cursor: Cursor, tag: Revision? = nil, commit: Revision? = nil) {
        self.body = body
        self.created = created
        self.cursor = cursor
        self.tag = tag
        self.commit = commit
    }

    /// The estimated cost of rendering the answer as JSON. The estimate ends when it exceeds the limit.
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
            // A unit is a JSON value, or eight bytes of text (see `Cost`). The fields of a change other than its values
            // have an estimated extent of four units, plus one unit for each eight bytes of the key.
            meter.add((4 + changes[index].key.text.utf8.count / 8) * .renderedUnit)
            meter.add(changes[index].old, each: .renderedUnit)
            meter.add(changes[index].new, each: .renderedUnit)
        }
    }
}
