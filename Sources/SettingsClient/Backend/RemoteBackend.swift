internal import SettingsModel

/// A suite of a daemon.
///
/// Each call sends and receives on the thread that calls, which depends on no other, and ends at its deadline.
final class RemoteBackend: SuiteBackend {
    let suite: SuiteName
    private let server: SharedServer
    private let timeout: Duration

    init(suite: SuiteName, server: SharedServer, timeout: Duration) {
        self.suite = suite
        self.server = server
        self.timeout = timeout
    }

    func load() throws(BackendError) -> ObservedState {
        let call = APICall.observe(watched, since: nil, wait: nil, limit: nil, latest: false)
        switch try BackendError.catching({ () throws(SettingsError) in try server.read(call, within: timeout) }) {
        case .state(let state): return state
        case .changes: throw .unreachable("the daemon tells changes to somebody who knows nothing yet")
        }
    }

    func setting(_ key: KeyName) throws(BackendError) -> SettingState {
        try BackendError.catching { () throws(SettingsError) in
            do throws(SettingsError) {
                return try server.read(.setting(key, in: suite), within: timeout).body
            } catch {
                guard let setting = SettingState(suite: suite, key: key, ifToldBy: error) else { throw error }
                return setting
            }
        }
    }

    func commit(_ transaction: Transaction, requestKey: RequestKey) throws(BackendError) -> WriteSummary {
        try BackendError.catching { () throws(SettingsError) in
            try server.write(.commit(transaction, WriteOptions(requestKey: requestKey)), within: timeout).body
        }
    }

    func reset(requestKey: RequestKey) throws(BackendError) -> WriteSummary {
        try BackendError.catching { () throws(SettingsError) in
            try server.write(.reset(suite, prefix: nil, WriteOptions(requestKey: requestKey)), within: timeout).body
        }
    }

    func follow(from cursor: Cursor, _ handler: @escaping @Sendable (Observation) -> Void) -> any Following {
        let follower = RemoteFollower(watched, server, from: cursor, handler)
        follower.start()
        return follower
    }

    /// The suite is asked for as one of several: so one that does not exist is an answer, with a place in history, and no
    /// refusal.
    private var watched: Watched {
        Watched(suites: [suite], isSeveral: true, keys: [], prefixes: [])
    }
}

extension BackendError {
    /// What the server refused is refused for good, unless it says that it could not at that moment.
    init(_ error: SettingsError) {
        switch error {
        case .problem(let problem, _) where !problem.isTransient: self = .refused(problem)
        default: self = .unreachable(error.description)
        }
    }

    fileprivate static func catching<Value>(
        _ body: () throws(SettingsError) -> Value
    ) throws(BackendError) -> Value {
        do {
            return try body()
        } catch {
            throw BackendError(error)
        }
    }
}

extension SettingState {
    /// The setting that a refusal to show it tells of: without a value, or with one that does not fit the schema.
    fileprivate init?(suite: SuiteName, key: KeyName, ifToldBy error: SettingsError) {
        guard case .problem(let problem, let revision) = error else { return nil }
        let source: Source
        switch problem.code {
        case .notSet, .unknownSuite, .unknownKey: source = .unset
        case .invalidStored: source = .invalid
        default: return nil
        }
        self.init(suite: suite, key: key, value: nil, source: source, revision: revision ?? .zero, modified: nil)
    }
}
