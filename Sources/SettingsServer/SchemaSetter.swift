internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage
internal import SettingsWeb
internal import Synchronization

/// A setter that puts the schemas of files in force, at the start and at each reload.
///
/// If what a suite stores does not fit its file, the suite keeps its values and the schema that it has; the other files count.
final class SchemaSetter: Sendable {
    /// The caller that its commits name.
    static let caller = "config"
    /// The violations that a line of the log names.
    private static let mostLogged = 10
    /// How long a schema that finds no room is tried, in nanoseconds, and the microseconds between two tries.
    private static let patience: UInt64 = 60_000_000_000
    private static let pause = Duration.milliseconds(200)

    private let store: Store
    private let audit: AuditLog?
    private let log: Log
    private let kept = Mutex(Condition.off)

    /// The state of the files, for `/readyz`.
    enum Condition: String, Sendable {
        /// None is configured.
        case off
        case ok
        /// A suite has another schema than its file.
        case refused
    }

    init(_ store: Store, _ audit: AuditLog?, _ log: Log) {
        self.store = store
        self.audit = audit
        self.log = log
    }

    var condition: Condition { kept.withLock { $0 } }

    /// Sets the schemas that differ from those in force, one after the other: the queue of writes might have no room for many
    /// schemas at once. Returns the problem of each suite whose file was refused. Waits for each write, so it must not be called on
    /// an event loop or on a thread of the write path.
    func set(_ files: [SchemaFile]?) -> [SuiteName: Problem] {
        let state = store.state
        var refused: [SuiteName: Problem] = [:]
        for file in files ?? [] where state.suite(file.suite)?.schema?.schema.document != file.schema.document {
            let result = set(file)
            switch result.answer {
            case .success: note(result.commit, of: file)
            case .failure(let problem):
                refused[file.suite] = problem
                log.error(
                    "cannot set the schema of \(file.suite): \(Self.reason(of: problem)) (\(file.path)); correct that and "
                        + "reload; the suite keeps its values and its schema until then")
            }
        }
        kept.withLock { $0 = files == nil ? .off : refused.isEmpty ? .ok : .refused }
        return refused
    }

    /// Sets one schema. Tries again for a while if the queue of writes has no room.
    private func set(_ file: SchemaFile) -> WriteResult {
        var request = WriteRequest(.setSchema(file.suite, file.schema, onConflict: .refuse))
        request.origin = CommitOrigin(by: Self.caller, note: nil)
        let end = MonotonicClock.system.now() + Self.patience
        while true {
            let receiver = AwaitedResult()
            let result = store.enqueue(WriteID(low: 0), request, for: receiver) ?? receiver.wait()
            guard case .failure(let problem) = result.answer, problem.code == .overloaded,
                MonotonicClock.system.now() < end
            else { return result }
            CurrentThread.sleep(for: Self.pause)
        }
    }

    private func note(_ commit: KeptCommit?, of file: SchemaFile) {
        log.info("schema of \(file.suite) set (\(file.path))")
        guard let commit else { return }
        let request = AuditLog.Request(peer: Self.caller, description: file.path)
        audit?.add(commit, from: request) { [store] in store.state }
    }

    private static func reason(of problem: Problem) -> String {
        let violations = problem.conflicts.flatMap(\.errors)
        guard !violations.isEmpty else { return problem.detail }
        let others = violations.count - mostLogged
        return violations.prefix(mostLogged).map(\.sentence).joined(separator: ", ")
            + (others > 0 ? " and \(others) more" : "")
    }
}

/// A receiver that waits for the result of one write.
private final class AwaitedResult: WriteReceiver {
    private let result = Mutex<WriteResult?>(nil)
    private let isThere = DispatchSemaphore(value: 0)

    func deliver(_ results: [WriteResult]) {
        guard let first = results.first else { return }
        result.withLock { $0 = first }
        isThere.signal()
    }

    /// Returns the result, once.
    func wait() -> WriteResult {
        while true {
            isThere.wait()
            if let result = result.withLock({ $0.take() }) { return result }
        }
    }
}
