internal import Dispatch
internal import Foundation
package import SettingsAPI
internal import SettingsEngine
package import SettingsHTTP
package import SettingsModel
internal import Synchronization

/// A suite in the memory of the program, for tests and previews, under the engine of the daemon: same decisions, same
/// messages. Several sessions may share one; each hears of the others as it would of other programs: a little later.
///
/// This file and the calls about the past in `PastCall` are the only users of the engine in the client.
package final class InMemoryBackend: SuiteBackend {
    package let suite: SuiteName

    private let shared: Mutex<Shared>
    private let queue = DispatchQueue(label: "settings in memory")
    /// The time of commits.
    private let now: @Sendable () -> Timestamp

    fileprivate struct Shared {
        var staged: StagedState
        var followers: [UInt64: Follower] = [:]
        var lastFollower: UInt64 = 0
    }

    fileprivate struct Follower {
        var cursor: Cursor
        let handler: @Sendable (SettingsObservation) -> Void
    }

    private struct Token: Following {
        weak let backend: InMemoryBackend?
        let id: UInt64

        func stop() {
            backend?.shared.withLock { $0.followers[id] = nil }
        }

        // The handler gets everything as soon as it happens.
        func refresh() {}
    }

    package init(
        suite: SuiteName, schema: Schema? = nil, now: @escaping @Sendable () -> Timestamp = { .ofSystem }
    ) {
        self.suite = suite
        self.now = now
        guard let epoch = Epoch(String(UInt64.random(in: .min ... .max), radix: 36)) else {
            preconditionFailure("digits in base 36 are an epoch")
        }
        shared = Mutex(Shared(staged: StagedState(State(epoch: epoch))))
        if let schema { _ = try? write(.setSchema(suite, schema, onConflict: .refuse), "", as: .unique()) }
    }

    /// How many followers there are.
    var followerCount: Int {
        shared.withLock { $0.followers.count }
    }

    package func load() throws(BackendError) -> ObservedState {
        shared.withLock { $0.staged.state.watchReader.all(of: subject, isReset: false) }
    }

    package func news(since place: Cursor) throws(BackendError) -> SettingsObservation {
        shared.withLock { shared in
            shared.staged.state.watchReader.news(of: subject, since: place)
                ?? .changes(shared.staged.state.watchReader.observed(subject, [], from: place.revision))
        }
    }

    package func setting(_ key: KeyName) throws(BackendError) -> SettingState {
        shared.withLock { $0.staged.state.setting(suite, key) }
    }

    package func write(_ change: PendingChange) throws(BackendError) -> WriteSummary {
        switch change.action {
        case .transaction(let transaction):
            try write(.transaction(transaction), transaction.jsonText(), as: change.requestKey)
        case .reset: try write(.resetSuite(suite, prefix: ""), "reset", as: change.requestKey)
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
        let policy = WriteRequest.ConflictPolicy(rawValue: policy.rawValue) ?? .refuse
        return try write(.setSchema(suite, schema, onConflict: policy), "schema", as: requestKey)
    }

    package func send<Output>(_ call: PastCall<Output>) throws(BackendError) -> Output {
        try staged { staged throws(Problem) in try call.answer(&staged, now()) }
    }

    package func follow(
        from cursor: Cursor, onTrouble: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any Following {
        let id = shared.withLock { shared in
            shared.lastFollower += 1
            shared.followers[shared.lastFollower] = Follower(cursor: cursor, handler: handler)
            return shared.lastFollower
        }
        queue.async { [weak self] in self?.notify() }
        return Token(backend: self, id: id)
    }

    /// The suite as one of several: so one that does not exist is no refusal.
    private var subject: WatchSubject { WatchSubject([suite]) }
}

extension InMemoryBackend {
    /// Stores a value as another program would, or removes what is stored.
    package func store(_ value: JSONValue?, for key: KeyName) throws(BackendError) {
        let operation = Transaction.Operation(suite: suite, key: key, value.map { .set($0) } ?? .delete)
        let change = Transaction(if: [], do: [operation])
        _ = try write(.transaction(change), change.jsonText(), as: .unique())
    }

    /// - Parameter digest: tells a repeat of the request from another one under the same key.
    private func write(
        _ command: WriteRequest.Command, _ digest: String, as requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary {
        var request = WriteRequest(command)
        request.requestKey = requestKey
        request.digest = digest
        return try staged { [request] staged throws(Problem) in try staged.summary(of: request, at: now()) }
    }

    /// Runs a body that may write, and has the followers called.
    private func staged<Output: Sendable>(
        _ body: (inout StagedState) throws(Problem) -> Output
    ) throws(BackendError) -> Output {
        let result = shared.withLock { shared in
            defer { shared.staged.confirm(upTo: shared.staged.revision) }
            return Result { () throws(Problem) in try body(&shared.staged) }
        }
        queue.async { [weak self] in self?.notify() }
        switch result {
        case .success(let output): return output
        case .failure(let problem): throw .refused(problem)
        }
    }

    /// Calls each follower with what it does not know yet. The queue is serial, so the order is kept.
    private func notify() {
        let news = shared.withLock { shared in
            var news: [(@Sendable (SettingsObservation) -> Void, SettingsObservation)] = []
            for (id, follower) in shared.followers {
                guard let observation = shared.staged.state.watchReader.news(of: subject, since: follower.cursor) else {
                    continue
                }
                shared.followers[id]?.cursor = observation.cursor
                news.append((follower.handler, observation))
            }
            return news
        }
        for (handler, observation) in news { handler(observation) }
    }
}

extension StagedState {
    /// Writes at a moment. Returns the summary of what is answered to a write of several keys.
    mutating func summary(of request: WriteRequest, at now: Timestamp) throws(Problem) -> WriteSummary {
        guard case .summary(let summary) = try write(request, at: now).answer.body else {
            throw Problem(.storageFailed, "internal error: no summary; this is a bug, please report it")
        }
        return summary
    }
}

extension Timestamp {
    /// The present moment by the clock of the system.
    package static var ofSystem: Timestamp {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }
}

extension WatchReader {
    /// The state of the watched settings. A subject of several suites always has one.
    fileprivate func all(of subject: WatchSubject, isReset: Bool) -> ObservedState {
        observed(subject, isReset: isReset)
            ?? ObservedState(.several([], missing: subject.suites), cursor: state.cursor)
    }

    /// What happened after a cursor; nil if nothing happened.
    fileprivate func news(of subject: WatchSubject, since place: Cursor) -> SettingsObservation? {
        switch find(subject, since: .cursor(place)) {
        case .state(let isReset): .state(all(of: subject, isReset: isReset))
        case .commits(let commits): .changes(observed(subject, commits, from: place.revision))
        case .missingSuite, .nothing, .tooCostly: nil
        }
    }
}
