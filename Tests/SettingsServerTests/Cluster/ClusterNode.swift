import Dispatch
import Platform
import SettingsAPI
import SettingsCluster
import SettingsEngine
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

/// The store of a daemon in a cluster: a store over a commit log in etcd, without HTTP.
final class ClusterNode: Sendable {
    let store: Store
    let log: EtcdLog
    /// The directory must exist until the log is closed.
    private let directory: TemporaryDirectory

    /// - Parameters:
    ///   - directory: the directory for the local copy of the state.
    ///   - messages: receives the messages of the message log.
    init(
        _ endpoints: [String], in directory: TemporaryDirectory, writeTimeoutSeconds: UInt64 = 10,
        messages: EventLog? = nil, _ setOptions: (inout EtcdLog.Options) -> Void = { _ in }
    ) throws {
        var etcd = EtcdOptions()
        etcd.endpoints = endpoints.compactMap { EtcdEndpoint($0) }
        etcd.prefix = "settingsd/test"
        var options = EtcdLog.Options(etcd)
        setOptions(&options)
        self.directory = directory
        let (state, log) = try EtcdLog.open(
            DataDirectory(directory.path), options: options, limits: History.Limits(),
            log: Log(level: .info, clock: { Timestamp(milliseconds: 1000) }, write: { messages?.add($0) }),
            clock: MonotonicClock.system.now)
        var limits = WriteLimits()
        limits.queueTimeout = writeTimeoutSeconds * 1_000_000_000
        let store = Store(state, log: log, limits: limits) { Timestamp(milliseconds: 1000) }
        (self.store, self.log) = (store, log)
        try log.start { [weak store] in store?.performMaintenance() }
    }

    deinit {
        do {
            try log.close(within: .max)
        } catch {
            Issue.record("cannot close the log: \(error)")
        }
    }

    /// Sends a write to the store, and waits for its result.
    func write(
        _ action: Transaction.Operation.Action, to key: String, guards: [WriteGuard] = [],
        requestKey: String? = nil
    ) throws -> WriteResult {
        let results = CollectedResults()
        let immediateResult = try enqueue(action, to: key, guards: guards, requestKey: requestKey, results)
        // Waits for one result, and takes the result of the write with the number 1.
        return try #require(immediateResult ?? results.awaitFurther(1)[1])
    }

    /// Queues a write, whose result goes to `results`. If the store refuses the write at once, returns the refusal.
    func enqueue(
        _ action: Transaction.Operation.Action, to key: String, guards: [WriteGuard] = [],
        requestKey: String? = nil, _ results: CollectedResults
    ) throws -> WriteResult? {
        var request = WriteRequest(
            .setting(Transaction.Operation(suite: try SuiteName("app"), key: try KeyName(key), action)))
        request.guards = guards
        request.requestKey = requestKey.flatMap { RequestKey($0) }
        // The store compares the digests of writes with the same request key. Here, all these writes count as equal.
        request.digest = requestKey
        // The size is arbitrary.
        request.size = 100
        // Each `results` gets the result of one write, so all writes have the number 1.
        return store.enqueue(WriteID(low: 1), request, for: results)
    }

    /// Makes the log perform its periodic maintenance, and waits for the end of the maintenance.
    func performMaintenance() {
        let done = DispatchSemaphore(value: 0)
        store.performMaintenance()
        store.whenIdle { _ in done.signal() }
        done.patientWait()
    }

    /// A text that a request to etcd contains if and only if the request writes.
    static let writeRequestText = #""success":[{"request_put""#

    /// The stored value of a key in the published state of this daemon.
    func value(_ key: String) throws -> JSONValue? {
        store.state.suite(try SuiteName("app"))?.record(try KeyName(key)).stored
    }

    /// The published state as text, to compare the states of daemons.
    var description: StateDescription { StateDescription(store.state) }
}
