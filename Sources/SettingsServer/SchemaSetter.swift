internal import Dispatch
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A setter that puts the schemas of files in force, at the start and at each reload.
///
/// If what a suite stores does not fit its file, the suite keeps its values and the schema that it has; the other files count.
final class SchemaSetter: Sendable {
    /// The caller that its commits name.
    static let caller = "config"
    /// The violations that a line of the log names.
    private static let mostLogged = 10

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

    /// Sets the schemas that differ from those in force. Then calls `completion`, which must not block, with the problem of
    /// each suite whose file was refused.
    func set(_ files: [SchemaFile]?, _ completion: @escaping @Sendable ([SuiteName: Problem]) -> Void) {
        let state = store.state
        let changed = (files ?? []).filter {
            state.suite($0.suite)?.schema?.schema.document != $0.schema.document
        }
        let isConfigured = files != nil
        let finish: @Sendable ([WriteOutcome]) -> Void = { outcomes in
            let refused = self.note(outcomes, changed)
            self.kept.withLock { $0 = !isConfigured ? .off : refused.isEmpty ? .ok : .refused }
            completion(refused)
        }
        guard !changed.isEmpty else { return finish([]) }
        let writes = changed.enumerated().map { index, file in
            var request = WriteRequest(.setSchema(file.suite, file.schema, onConflict: .refuse))
            request.origin = CommitOrigin(by: Self.caller, note: nil)
            request.becomeLong()
            return PendingWrite(id: index, request: request)
        }
        let replies = CollectedOutcomes(writes.count, finish)
        replies.deliver(store.submit(writes, replies: replies))
    }

    /// Sets them before the daemon serves.
    func setAndWait(_ files: [SchemaFile]?) {
        let done = DispatchSemaphore(value: 0)
        set(files) { _ in done.signal() }
        done.wait()
    }

    private func note(_ outcomes: [WriteOutcome], _ files: [SchemaFile]) -> [SuiteName: Problem] {
        var refused: [SuiteName: Problem] = [:]
        for outcome in outcomes {
            let file = files[outcome.id]
            switch outcome.result {
            case .success:
                log.info("schema of \(file.suite) set (\(file.path))")
                guard let commit = outcome.commit else { continue }
                let request = AuditLog.Request(peer: Self.caller, text: file.path)
                audit?.add(commit, from: request) { [store] in store.state }
            case .failure(let problem):
                refused[file.suite] = problem
                log.error(
                    "cannot set the schema of \(file.suite): \(Self.reason(of: problem)) (\(file.path)); correct that and "
                        + "reload; the suite keeps its values and its schema until then")
            }
        }
        return refused
    }

    private static func reason(of problem: Problem) -> String {
        let violations = problem.conflicts.flatMap(\.errors)
        guard !violations.isEmpty else { return problem.detail }
        let others = violations.count - mostLogged
        return violations.prefix(mostLogged).map(\.sentence).joined(separator: ", ")
            + (others > 0 ? " and \(others) more" : "")
    }
}

/// A receiver that waits for the outcomes of several writes.
private final class CollectedOutcomes: WriteReplies {
    private let count: Int
    private let completion: @Sendable ([WriteOutcome]) -> Void
    private let outcomes = Mutex<[WriteOutcome]>([])

    init(_ count: Int, _ completion: @escaping @Sendable ([WriteOutcome]) -> Void) {
        self.count = count
        self.completion = completion
    }

    func deliver(_ outcomes: [WriteOutcome]) {
        guard !outcomes.isEmpty else { return }
        let all = self.outcomes.withLock { all in
            all += outcomes
            return all.count == count ? all : nil
        }
        if let all { completion(all) }
    }
}
