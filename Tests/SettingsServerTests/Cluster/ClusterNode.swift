import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// A store over a log in etcd, as a daemon has it, without HTTP.
final class ClusterNode: Sendable {
    let store: Store
    let log: EtcdLog
    /// Stays until the log is closed.
    private let directory: TemporaryDirectory

    /// - Parameter directory: where it keeps its copy of the state.
    init(
        _ endpoints: [String], in directory: TemporaryDirectory, _ adapt: (inout EtcdLog.Options) -> Void = { _ in }
    ) throws {
        var etcd = EtcdOptions()
        etcd.endpoints = endpoints.compactMap { EtcdEndpoint($0) }
        etcd.prefix = "settingsd/test"
        var options = EtcdLog.Options(etcd)
        adapt(&options)
        self.directory = directory
        let (state, log) = try EtcdLog.open(
            DataDirectory(directory.path), options: options, limits: History.Limits(), log: LogHarness.quiet,
            clock: MonotonicClock.system.now)
        let store = Store(state, log: log) { Timestamp(milliseconds: 1000) }
        (self.store, self.log) = (store, log)
        try log.start { [weak store] in store?.tend() }
    }

    deinit {
        do {
            try log.close(within: .max)
        } catch {
            Issue.record("cannot close the log: \(error)")
        }
    }

    func write(
        _ action: Transaction.Operation.Action, to key: String, guards: [WriteRequest.Guard] = [],
        as requestKey: String? = nil
    ) throws -> WriteOutcome {
        var request = WriteRequest(
            .setting(Transaction.Operation(suite: try SuiteName("app"), key: try KeyName(key), action)))
        request.guards = guards
        request.requestKey = requestKey.flatMap { RequestKey($0) }
        request.digest = requestKey
        request.size = 100
        let replies = CollectedReplies()
        let now = store.submit([PendingWrite(id: 1, request: request)], replies: replies)
        return try #require(now.first ?? replies.wait(for: 1)[1])
    }

    /// The stored value of a key, as this daemon knows it.
    func value(_ key: String) throws -> JSONValue? {
        store.state.suite(try SuiteName("app"))?.record(try KeyName(key)).stored
    }

    var description: StateDescription { StateDescription(store.state) }
}
