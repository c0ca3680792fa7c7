internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage
internal import SettingsWeb
internal import Synchronization

/// Sets the schemas of suites (named sets of settings) from the configured files, at the start and at each reload.
///
/// A suite whose stored values violate the schema in its file keeps its values and its current schema.
final class SchemaSetter: Sendable {
    /// The name of the caller in the commits that set the schemas. The audit lines of these commits have this name in
    /// the member `peer`, which otherwise contains the address of the client.
    static let caller = "config"
    /// The maximum number of violations in a log line.
    private static let maximumLoggedViolations = 10
    /// The nanoseconds for which `SchemaSetter` retries a write while the write queue is full.
    private static let retryDuration: UInt64 = 60_000_000_000
    private static let retryInterval = Duration.milliseconds(200)

    private let store: Store
    private let audit: AuditLog?
    private let log: Log
    private let storedResult = Mutex(LastResult.off)

    /// The result of the last attempt to set the schemas, for `/readyz`.
    enum LastResult: String, Sendable {
        /// No schema folder is configured.
        case off
        case ok
        /// The schema of at least one file was refused.
        case refused
    }

    init(_ store: Store, _ audit: AuditLog?, _ log: Log) {
        self.store = store
        self.audit = audit
        self.log = log
    }

    var lastResult: LastResult { storedResult.withLock { $0 } }

    /// Sets each schema that differs from the current schema of its suite. Returns the problem of each suite whose
    /// schema was refused.
    ///
    /// The function writes one schema after the other, because many schemas at once could exceed the write queue. It
    /// blocks until each write is done, so it must not run on an event loop or on a thread of the write path.
    func set(_ files: [SchemaFile]?) -> [SuiteName: Problem] {
        let state = store.state
        var refused: [SuiteName: Problem] = [:]
        for file in files ?? [] where state.suite(file.suite)?.schema?.schema.document != file.schema.document {
            let result = set(file)
            switch result.answer {
            case .success: logAndAudit(result.commit, of: file)
            case .failure(let problem):
                refused[file.suite] = problem
                log.error(
                    "cannot set the schema of \(file.suite): \(Self.reason(of: problem)) (\(file.path)); the suite "
                        + "keeps its values and its schema; correct the file or the values, and reload")
            }
        }
        storedResult.withLock { $0 = files == nil ? .off : refused.isEmpty ? .ok : .refused }
        return refused
    }

    /// Sets one schema. Retries for a minute while the write queue is full.
    private func set(_ file: SchemaFile) -> WriteResult {
        var request = WriteRequest(.setSchema(file.suite, file.schema, onConflict: .refuse))
        request.origin = CommitOrigin(by: Self.caller, note: nil)
        let end = MonotonicClock.system.now() + Self.retryDuration
        while true {
            let receiver = AwaitedResult()
            // `enqueue` returns a result only if the queue is full. The receiver does not use the identifier.
            let result = store.enqueue(WriteID(low: 0), request, for: receiver) ?? receiver.wait()
            guard case .failure(let problem) = result.answer, problem.code == .overloaded,
                MonotonicClock.system.now() < end
            else { return result }
            CurrentThread.sleep(for: Self.retryInterval)
        }
    }

    private func logAndAudit(_ commit: RetainedCommit?, of file: SchemaFile) {
        log.info("the schema of \(file.suite) was set from the file \(file.path)")
        guard let commit else { return }
        let request = AuditLog.Request(peer: Self.caller, description: file.path)
        // The audit log omits the values of keys that the schemas in the published state declare secret.
        audit?.add(commit, from: request, publishedState: { [store] in store.state })
    }

    private static func reason(of problem: Problem) -> String {
        let violations = problem.conflicts.flatMap(\.errors)
        guard !violations.isEmpty else { return problem.detail }
        let remaining = violations.count - maximumLoggedViolations
        return violations.prefix(maximumLoggedViolations).map(\.sentence).joined(separator: ", ")
            + (remaining > 0 ? " and \(remaining) more" : "")
    }
}

/// A receiver with which a thread can wait for the result of one write.
private final class AwaitedResult: WriteReceiver {
    private let result = Mutex<WriteResult?>(nil)
    private let resultArrived = DispatchSemaphore(value: 0)

    func deliver(_ results: [WriteResult]) {
        guard let first = results.first else { return }
        result.withLock { $0 = first }
        resultArrived.signal()
    }

    /// Waits for the result and returns it. Must be called only once.
    func wait() -> WriteResult {
        while true {
            resultArrived.wait()
            if let result = result.withLock({ $0.take() }) { return result }
        }
    }
}
