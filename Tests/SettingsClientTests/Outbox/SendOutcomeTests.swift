import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// The outcome of an attempt to send a queued write: the write is done or refused, met a conflict, or stays in the
/// queue.
@Suite(.ownThread)
struct SendOutcomeTests {
    private let samples: SampleWrites

    init() throws {
        samples = try SampleWrites()
    }

    /// Returns the setting of the sample key with a value and the revision of its last change. The revision has no
    /// effect on the results.
    private func setting(_ value: JSONValue?, _ revision: Int64, source: Source? = nil) throws -> SettingState {
        SettingState(
            suite: samples.suite, key: samples.key, value: value, source: source ?? (value == nil ? .unset : .stored),
            revision: try #require(Revision(revision)), modified: nil)
    }

    @Test("A success or a permanent refusal ends a write; after another failure, the write waits")
    func permanentAndTemporary() throws {
        // `isReachable` is true if the server has answered, and false if it is unreachable.
        let write = try samples.write(.set(1))
        let summary = WriteSummary(revision: .zero, changed: false, changes: [])
        #expect(SendOutcome(.success(summary), of: write) == .done(summary))
        #expect(
            SendOutcome(.failure(.unreachable("why")), of: write)
                == .waits(SendDelay(reason: "why", isReachable: false)))
        // The delay is limited to the range from 0 to 300 s.
        for (retryAfter, expected) in [(1.5, 1.5), (-1, 0), (1e6, 300)] {
            let unavailable = BackendError.unavailable("why", retryAfter: .seconds(retryAfter))
            #expect(
                SendOutcome(.failure(unavailable), of: write)
                    == .waits(SendDelay(reason: "why", isReachable: true, atLeast: .seconds(expected))))
        }
        let permanent: [ErrorCode] = [
            .badRequest, .locked, .unknownKey, .unknownSuite, .notSet, .invalidValue, .invalidOperation, .tooLarge,
            .preconditionFailed, .idempotencyMismatch, .forbidden, .notImplemented,
        ]
        for code in permanent {
            let problem = Problem(code, "no")
            #expect(SendOutcome(.failure(.refused(problem)), of: write) == .refused(problem), "\(code)")
        }
        let temporary: [ErrorCode] = [
            .overloaded, .behind, .shuttingDown, .storageFailed, .insufficientStorage, .tooManyRequests,
        ]
        for code in temporary {
            var problem = Problem(code, "later")
            problem.retryAfterMs = 1500
            let outcome = SendOutcome(.failure(.refused(problem)), of: write)
            #expect(
                outcome
                    == .waits(
                        SendDelay(reason: problem.description, isReachable: true, atLeast: .milliseconds(1500))),
                "\(code)")
        }
    }

    @Test("A refusal by a quota ends the write")
    func quota() throws {
        var problem = Problem(.insufficientStorage, "no more keys")
        problem.limit = 10
        #expect(SendOutcome(.failure(.refused(problem)), of: try samples.write(.set(1))) == .refused(problem))
    }

    @Test("After a refusal of the token, the write stays in the queue until a person acts")
    func unauthorized() throws {
        // `needsIntervention`: the refusal lasts until a person installs another token, so the calls that wait for the
        // answer fail at once.
        let problem = Problem(.unauthorized, "no")
        #expect(
            SendOutcome(.failure(.refused(problem)), of: try samples.write(.set(1)))
                == .waits(SendDelay(reason: problem.description, isReachable: true, needsIntervention: true)))
    }

    @Test("An answer of a proxy does not end a write")
    func proxy() throws {
        for status in [404, 403, 500, 502] {
            var problem = Problem(.badRequest, "a page")
            // The body of a proxy has no error code of the daemon.
            (problem.status, problem.codeName) = (status, "")
            #expect(
                SendOutcome(.failure(.refused(problem)), of: try samples.write(.set(1)))
                    == .waits(SendDelay(reason: problem.description, isReachable: true)), "\(status)")
        }
    }

    @Test("Only a refusal about the value of a single change with a merge plan is a conflict")
    func conflicts() throws {
        let plan = PendingChange.ConflictReaction.merge(
            PendingChange.MergePlan(base: 5, new: 6, delta: .sum(1), valueIfUnset: 0))
        let guarded = try samples.write(
            .set(6), if: [.setting(samples.suite, samples.key, .value(5))], else: plan)
        let added = try samples.write(.change(.add(1)), else: plan)
        var failed = Problem(.preconditionFailed, "no")
        failed.failed = [Problem.FailedCondition(index: 0, current: .setting(try setting(9, 3)))]
        #expect(
            try SendOutcome(.failure(.refused(failed)), of: guarded) == .conflict(failed, current: setting(9, 3)))
        let unset = Problem(.notSet, "no")
        #expect(SendOutcome(.failure(.refused(unset)), of: added) == .conflict(unset, current: nil))
        // No conflict: an error that a `set` cannot have, a write of two changes, and a write without a merge plan.
        #expect(SendOutcome(.failure(.refused(unset)), of: guarded) == .refused(unset))
        let several = try samples.write(.set(1), .set(2), else: plan)
        #expect(SendOutcome(.failure(.refused(failed)), of: several) == .refused(failed))
        let ifAbsent = try samples.write(.set(1), else: .keepStoredValue)
        #expect(SendOutcome(.failure(.refused(failed)), of: ifAbsent) == .refused(failed))
    }

    /// The plan of a change that met a conflict, the current value, and the action that the client sends next. The
    /// action is nil if the client gives up the change.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let plan: PendingChange.MergePlan
        let current: JSONValue?
        let action: Transaction.Operation.Action?
        /// True if the next request has a condition on the current value.
        var isGuarded = true
    }

    static let cases = [
        Case(
            testDescription: "the current value equals the old value",
            plan: PendingChange.MergePlan(base: 5, new: 6, delta: nil, valueIfUnset: nil),
            current: 5,
            action: .set(6)),
        Case(
            testDescription: "another value, without a merge rule",
            plan: PendingChange.MergePlan(base: 5, new: 6, delta: nil, valueIfUnset: nil),
            current: 7, action: nil),
        Case(
            testDescription: "a sum, and the current value is another number",
            plan: PendingChange.MergePlan(base: 5, new: 6, delta: .sum(1), valueIfUnset: 0),
            current: 7,
            action: .change(.add(1)), isGuarded: false),
        Case(
            testDescription: "a sum, and the value was removed, with a default",
            plan: PendingChange.MergePlan(base: 5, new: 6, delta: .sum(1), valueIfUnset: 100),
            current: nil, action: .set(101)),
        Case(
            testDescription: "a sum, and the value was removed, without a default",
            plan: PendingChange.MergePlan(base: 5, new: 6, delta: .sum(1), valueIfUnset: nil), current: nil,
            action: .set(6)),
        Case(
            testDescription: "a sum, and the current value is text",
            plan: PendingChange.MergePlan(base: 5, new: 6, delta: .sum(1), valueIfUnset: 0),
            current: "x", action: nil),
        Case(
            testDescription: "appended elements",
            plan: PendingChange.MergePlan(base: [], new: ["a"], delta: .append(["a"]), valueIfUnset: []),
            current: ["x"], action: .change(.append(["a"])), isGuarded: false),
        Case(
            testDescription: "appended text",
            plan: PendingChange.MergePlan(base: nil, new: "a", delta: .concat("a"), valueIfUnset: nil),
            current: "x", action: .change(.concat("a")), isGuarded: false),
        Case(
            testDescription: "added elements of a set, in canonical order",
            plan: PendingChange.MergePlan(base: [], new: ["b"], delta: .union(["b"]), valueIfUnset: []),
            current: ["c", "a"],
            action: .set(["a", "b", "c"])),
        Case(
            testDescription: "a removal, and the current value equals the old value",
            plan: PendingChange.MergePlan(base: 5, new: nil, delta: nil, valueIfUnset: nil),
            current: 5, action: .delete),
    ]

    @Test(
        "After a conflict, the client computes the next change from the merge plan and the current value",
        arguments: cases)
    func plans(_ sample: Case) throws {
        // The refused write. Only its plan has an effect on the next change.
        let write = try samples.write(
            .set(6), if: [.setting(samples.suite, samples.key, .stored(true))], else: .merge(sample.plan))
        let nextKey = try #require(RequestKey("next"))
        let next = try write.resolved(over: setting(sample.current, 3), requestKey: nextKey)
        guard let action = sample.action else {
            #expect(next == nil)
            return
        }
        let condition = Transaction.Condition.setting(
            samples.suite, samples.key, sample.current.map { .value($0) } ?? .stored(false))
        let expected = try samples.write(
            action, if: sample.isGuarded ? [condition] : [], else: .merge(sample.plan), as: "next")
        #expect(next == expected)
        // The client does not send the same request again after its refusal.
        if !sample.isGuarded {
            #expect(try next?.resolved(over: setting(sample.current, 4), requestKey: nextKey) == nil)
        }
        // A value that the schema does not allow cannot be merged.
        #expect(try write.resolved(over: setting(nil, 3, source: .invalid), requestKey: nextKey) == nil)
    }
}
