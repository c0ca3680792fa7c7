internal import Dispatch
internal import Foundation
package import SettingsAPI
internal import SettingsEngine
package import SettingsHTTP
package import SettingsModel
internal import Synchronization

/// A suite in the memory of the program, for tests and previews. The backend uses the engine of the daemon, so it makes
/// the same decisions and has the same messages. Several sessions may share a backend. A queue delivers the changes of
/// one session to the other sessions, as a daemon delivers the changes of other programs. The backend carries out
/// pending actions, which are reverts and scheduled writes, at their deadlines.
///
/// In the client, only this file and `DirectRequest` use the engine.
package final class InMemoryBackend: SuiteBackend {
    package let suite: SuiteName

    private let shared: Mutex<Shared>
    private let queue = DispatchQueue(label: "settings in memory")
    /// The time of commits and of deadlines.
    private let now: @Sendable () -> Timestamp

    fileprivate struct Shared {
        var staged: StagedState
        var followers: [UInt64: Follower] = [:]
        var lastFollowerID: UInt64 = 0
        /// The deadline for which a check for due actions is scheduled.
        var nextCheck: Timestamp?
    }

    fileprivate struct Follower {
        var cursor: Cursor
        let handler: @Sendable (SettingsObservation) -> Void
    }

    private struct Subscription: BackendSubscription {
        weak let backend: InMemoryBackend?
        let id: UInt64

        func stop() {
            backend?.shared.withLock { $0.followers[id] = nil }
        }

        // The queue delivers every change without a request, so there is nothing to do.
        func refresh() {}
    }

    package init(suite: SuiteName, now: @escaping @Sendable () -> Timestamp = { .ofSystem }) {
        self.suite = suite
        self.now = now
        guard let epoch = Epoch(String(UInt64.random(in: .min ... .max), radix: 36)) else {
            preconditionFailure("a number in base 36 must be a valid epoch")
        }
        shared = Mutex(Shared(staged: StagedState(State(epoch: epoch))))
    }

    /// Creates a backend whose suite has a schema. Throws if the engine refuses the schema.
    package convenience init(
        suite: SuiteName, schema: Schema?, now: @escaping @Sendable () -> Timestamp = { .ofSystem }
    ) throws(BackendError) {
        self.init(suite: suite, now: now)
        guard let schema else { return }
        _ = try write(.setSchema(suite, schema, onConflict: .refuse), digest: "", requestKey: .unique())
    }

    var followerCount: Int {
        shared.withLock { $0.followers.count }
    }

    package func load() throws(BackendError) -> ObservedState {
        shared.withLock { $0.staged.state.watchReader.currentState(of: subject, isReset: false) }
    }

    package func changes(since cursor: Cursor) throws(BackendError) -> SettingsObservation {
        shared.withLock { shared in
            // If there is no change, the answer is an empty list of changes.
            shared.staged.state.watchReader.observation(of: subject, since: cursor)
                ?? .changes(shared.staged.state.watchReader.observed(subject, [], from: cursor.revision))
        }
    }

    package func setting(_ key: KeyName) throws(BackendError) -> SettingState {
        shared.withLock { $0.staged.state.setting(suite, key) }
    }

    package func write(_ change: PendingChange) throws(BackendError) -> WriteSummary {
        switch change.action {
        case .transaction(let transaction):
            try write(.transaction(transaction), digest: transaction.jsonText(), requestKey: change.requestKey)
        case .removeAll: try write(.resetSuite(suite, prefix: ""), digest: "reset", requestKey: change.requestKey)
        }
    }

    package func schema() throws(BackendError) -> SchemaDocument? {
        shared.withLock { shared in
            shared.staged.state.suite(suite).flatMap { suite in
                suite.schema.map { SchemaDocument(document: $0.schema.document, revision: suite.schemaRevision) }
            }
        }
    }

    package func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary {
        let schema: Schema
        do {
            schema = try Schema(document)
        } catch {
            throw .refused(Problem(.invalidSchema, error.description))
        }
        return try write(.setSchema(suite, schema, onConflict: policy), digest: "schema", requestKey: requestKey)
    }

    package func send<Output>(_ call: DirectRequest<Output>) throws(BackendError) -> Output {
        try withStagedState { staged throws(Problem) in try call.runInMemory(&staged, now()) }
    }

    package func follow(
        from cursor: Cursor, onFailure: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any BackendSubscription {
        let id = shared.withLock { shared in
            shared.lastFollowerID += 1
            shared.followers[shared.lastFollowerID] = Follower(cursor: cursor, handler: handler)
            return shared.lastFollowerID
        }
        queue.async { [weak self] in self?.notify() }
        return Subscription(backend: self, id: id)
    }

    /// The watched suite as a list with one suite, because the engine does not refuse a list if a suite does not exist.
    private var subject: WatchSubject { WatchSubject([suite]) }
}

extension InMemoryBackend {
    /// Stores a value as another program would. Nil removes the stored value.
    package func store(_ value: JSONValue?, for key: KeyName) throws(BackendError) {
        let operation = Transaction.Operation(suite: suite, key: key, value.map { .set($0) } ?? .delete)
        let change = Transaction(if: [], do: [operation])
        _ = try write(.transaction(change), digest: change.jsonText(), requestKey: .unique())
    }

    /// - Parameter digest: a text that identifies the contents of the request, so that the engine can refuse another
    ///   request with the same request key. The digest of a schema does not depend on the schema, because the client
    ///   makes a new request key for each schema.
    private func write(
        _ command: WriteCommand, digest: String, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary {
        var request = WriteRequest(command)
        request.requestKey = requestKey
        request.digest = digest
        return try withStagedState { [request] staged throws(Problem) in
            try staged.writeAndSummarize(request, at: now())
        }
    }

    /// Runs a function that may write, publishes the staged commits, and notifies the followers.
    private func withStagedState<Output: Sendable>(
        _ body: (inout StagedState) throws(Problem) -> Output
    ) throws(BackendError) -> Output {
        let result = shared.withLock { shared in
            defer { shared.staged.confirm(upTo: shared.staged.revision) }
            return Result { () throws(Problem) in try body(&shared.staged) }
        }
        queue.async { [weak self] in self?.notify() }
        scheduleCheck()
        switch result {
        case .success(let output): return output
        case .failure(let problem): throw .refused(problem)
        }
    }

    /// Carries out the pending actions that are due, in the order of their deadlines. If a test controls the clock, the
    /// clock calls this method when the test has advanced the clock.
    package func carryOutDueActions() {
        while true {
            let isActionDone = shared.withLock { shared in
                guard let action = shared.staged.state.pending.byDeadline.first?.action, action.deadline <= now() else {
                    return false
                }
                _ = try? shared.staged.write(WriteRequest(.carryOut(action.id, deadline: action.deadline)), at: now())
                shared.staged.confirm(upTo: shared.staged.revision)
                // If the write failed, the action still has the same deadline. The loop then ends, because another
                // attempt would fail, too.
                return shared.staged.state.pending[action.id]?.action.deadline != action.deadline
            }
            guard isActionDone else { break }
        }
        queue.async { [weak self] in self?.notify() }
    }

    /// Schedules a check for due actions at the next deadline, unless a check is already scheduled for this deadline.
    private func scheduleCheck() {
        let delay = shared.withLock { shared -> Int? in
            guard let next = shared.staged.state.pending.byDeadline.first?.action.deadline, next != shared.nextCheck
            else { return nil }
            shared.nextCheck = next
            // Without a minimum of 100 ms, an action that cannot be carried out would be tried again without a pause.
            return Int(max(100, next.milliseconds - now().milliseconds))
        }
        guard let delay else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(delay)) { [weak self] in
            guard let self else { return }
            shared.withLock { $0.nextCheck = nil }
            carryOutDueActions()
            scheduleCheck()
        }
    }

    /// Calls the handler of each follower with the changes after its cursor. Runs on the serial queue, so a follower
    /// gets the changes in order.
    private func notify() {
        let deliveries = shared.withLock { shared in
            var deliveries: [(@Sendable (SettingsObservation) -> Void, SettingsObservation)] = []
            for (id, follower) in shared.followers {
                guard let observation = shared.staged.state.watchReader.observation(of: subject, since: follower.cursor)
                else {
                    continue
                }
                shared.followers[id]?.cursor = observation.cursor
                deliveries.append((follower.handler, observation))
            }
            return deliveries
        }
        for (handler, observation) in deliveries { handler(observation) }
    }
}

extension StagedState {
    /// Carries out a write at the given time. Returns the summary that the daemon would send.
    mutating func writeAndSummarize(_ request: WriteRequest, at now: Timestamp) throws(Problem) -> WriteSummary {
        let answer = try write(request, at: now).answer
        guard case .summary(var summary) = answer.body else {
            throw Problem(.storageFailed, "internal error: a write has no summary; this is a bug, please report it")
        }
        summary.pending = answer.pending?.description
        return summary
    }
}

extension Timestamp {
    package static var ofSystem: Timestamp {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }
}

extension WatchReader {
    /// Returns the state of the watched suites. If no suite exists, the state contains no settings.
    fileprivate func currentState(of subject: WatchSubject, isReset: Bool) -> ObservedState {
        observed(subject, isReset: isReset)
            ?? ObservedState(.several([], missing: subject.suites), cursor: state.cursor)
    }

    /// Returns the changes after a cursor, or the state if the history does not reach back to the cursor. Returns nil
    /// if there is no change.
    fileprivate func observation(of subject: WatchSubject, since cursor: Cursor) -> SettingsObservation? {
        switch find(subject, since: .cursor(cursor)) {
        case .state(let isReset): .state(currentState(of: subject, isReset: isReset))
        case .commits(let commits): .changes(observed(subject, commits, from: cursor.revision))
        // `nothing` means that there is no change. The other two cases do not occur: a search for a list of suites does
        // not find that a suite is missing, and a search without a limit is never too costly.
        case .missingSuite, .nothing, .tooCostly: nil
        }
    }
}
