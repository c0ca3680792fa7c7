internal import Dispatch
internal import Foundation
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// A suite without a daemon, for tests and previews. Several adapters may share one; each hears of the others as it would
/// of other programs: a little later.
final class InMemoryBackend: SuiteBackend {
    let suite: SuiteName

    private let shared: Mutex<Shared>
    private let queue = DispatchQueue(label: "settings in memory")

    private struct Shared {
        var contents: InMemorySuite
        var followers: [UInt64: Follower] = [:]
        var nextFollower: UInt64 = 0
    }

    private struct Follower {
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

    init(suite: SuiteName, schema: Schema? = nil) {
        self.suite = suite
        guard let epoch = Epoch(String(UInt64.random(in: .min ... .max), radix: 36)) else {
            preconditionFailure("digits in base 36 are an epoch")
        }
        shared = Mutex(Shared(contents: InMemorySuite(name: suite, schema: schema, epoch: epoch)))
    }

    /// How many are told of changes.
    var followerCount: Int {
        shared.withLock { $0.followers.count }
    }

    /// What followers are told who are at a place in history; nil for nothing.
    func observation(since place: Cursor) -> SettingsObservation? {
        shared.withLock { $0.contents.observation(since: place) }
    }

    func load() throws(BackendError) -> ObservedState {
        shared.withLock { $0.contents.state() }
    }

    func news(since place: Cursor) throws(BackendError) -> SettingsObservation {
        shared.withLock { $0.contents.observation(since: place) ?? .state($0.contents.state()) }
    }

    func setting(_ key: KeyName) throws(BackendError) -> SettingState {
        shared.withLock { $0.contents.setting(key) }
    }

    func commit(_ transaction: Transaction, requestKey: RequestKey) throws(BackendError) -> WriteSummary {
        try write { suite throws(Problem) in
            try suite.commit(transaction, requestKey: requestKey, at: Self.now)
        }
    }

    func reset(requestKey: RequestKey) throws(BackendError) -> WriteSummary {
        try write { suite throws(Problem) in
            try suite.reset(requestKey: requestKey, at: Self.now)
        }
    }

    func schema() throws(BackendError) -> SchemaDocument? {
        shared.withLock { shared in
            shared.contents.schema.map {
                SchemaDocument(document: $0.document, revision: shared.contents.schemaRevision)
            }
        }
    }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary {
        try write { suite throws(Problem) in
            try suite.setSchema(document, onConflict: policy, requestKey: requestKey, at: Self.now)
        }
    }

    func follow(
        from cursor: Cursor, onTrouble: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any Following {
        let id = shared.withLock { shared in
            shared.nextFollower += 1
            shared.followers[shared.nextFollower] = Follower(cursor: cursor, handler: handler)
            return shared.nextFollower
        }
        queue.async { [weak self] in self?.tell() }
        return Token(backend: self, id: id)
    }

    private func write(
        _ body: (inout InMemorySuite) throws(Problem) -> WriteSummary
    ) throws(BackendError) -> WriteSummary {
        let summary = shared.withLock { shared in
            Result { () throws(Problem) in try body(&shared.contents) }
        }
        switch summary {
        case .success(let summary):
            if summary.changed { queue.async { [weak self] in self?.tell() } }
            return summary
        case .failure(let problem):
            throw .refused(problem)
        }
    }

    /// Tells each follower what it does not know yet. The queue is serial, so nobody hears things out of order.
    private func tell() {
        let news = shared.withLock { shared in
            var news: [(@Sendable (SettingsObservation) -> Void, SettingsObservation)] = []
            for (id, follower) in shared.followers {
                guard let observation = shared.contents.observation(since: follower.cursor) else { continue }
                shared.followers[id]?.cursor = observation.cursor
                news.append((follower.handler, observation))
            }
            return news
        }
        for (handler, observation) in news { handler(observation) }
    }

    private static var now: Timestamp {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }
}
