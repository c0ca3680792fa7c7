internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import Synchronization

/// The part of a session's state about the cache file.
struct SavingState: Sendable {
    /// The version of the replica that the file contains, or that a save is writing. Nil if the file was neither read
    /// nor written, or if the last save did not write the file.
    var savedVersion: Int?
    /// True if a save is planned.
    var isPlanned = false
    /// The time at which the last save began, even if the save failed. Nil before the first save.
    var lastSaved: ContinuousClock.Instant?
    /// True if the last save failed. Failures in a row are reported once.
    var hasFailed = false

    /// Plans a save, at the earliest `interval` after the last save began. Returns the pause before the save; nil if a
    /// save is already planned.
    mutating func plan(after interval: Duration) -> Duration? {
        if isPlanned { return nil }
        isPlanned = true
        return lastSaved.map { max(.zero, $0 + interval - .now) } ?? .zero
    }
}

extension SuiteSession {
    /// Carries out the planned save. Runs on the client thread.
    func saveAsPlanned() {
        state.withLock { $0.saving.isPlanned = false }
        saveCache()
    }

    /// Saves the replica, unless the file already contains its version. After a failure, the next change causes another
    /// save.
    func saveCache() {
        guard let cache else { return }
        let contents = state.withLock { state -> ObservedState? in
            let version = state.replica.version
            guard state.saving.savedVersion != version else { return nil }
            state.saving.savedVersion = version
            state.saving.lastSaved = .now
            return state.replica.confirmed(of: suite)
        }
        guard let contents else { return }
        do throws(FileError) {
            // False if another program is saving at the same time. The next change then causes another save.
            let isSaved = try cache.save(contents)
            state.withLock { state in
                if isSaved { state.saving.hasFailed = false } else { state.saving.savedVersion = nil }
            }
        } catch {
            let isFirst = state.withLock { state in
                state.saving.savedVersion = nil
                defer { state.saving.hasFailed = true }
                return !state.saving.hasFailed
            }
            if isFirst { report(.unusableFile(path: cache.path, reason: error.reason), nil, .write) }
        }
    }
}

/// The sessions of the process. When the process exits, the exit handler sends the writes of the sessions, saves their
/// cache files and waits for their logs. The deinitializers cannot do this, because the process does not release an
/// adapter in a global variable.
enum SessionsAtExit {
    private struct Entry {
        weak var session: SuiteSession?
    }

    private static let entries = Mutex<[Entry]>([])
    private static let isRegistered: Bool = CurrentProcess.addExitHandler { SessionsAtExit.flushAll() }
    /// The maximum time for which the exit of the process waits until the daemon has answered all writes.
    private static let maxFlushTime = Duration.seconds(1)
    /// The maximum time for which the exit of the process waits until the logs contain all issues.
    private static let maxLogTime = Duration.milliseconds(200)

    static func add(_ session: SuiteSession) {
        _ = isRegistered
        let sessions = entries.withLock { entries in
            let sessions = entries.compactMap(\.session)
            entries = (sessions + [session]).map { Entry(session: $0) }
            return sessions
        }
        // The last reference to a session must not be released under the lock, because the deinitializer of the
        // session may write the cache file.
        withExtendedLifetime(sessions) {}
    }

    private static func flushAll() {
        let deadline = ContinuousClock.now + maxFlushTime
        let sessions = entries.withLock { $0.compactMap(\.session) }
        // All sessions send at the same time.
        let flushes = sessions.compactMap { $0.beginFlush() }
        for flush in flushes { _ = flush.wait(until: deadline) }
        for session in sessions { session.saveCache() }
        IssueReporter.waitUntilAllLogged(until: .now + maxLogTime)
    }
}
