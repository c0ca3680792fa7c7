internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import Synchronization

/// The part of a session's state that says how much of the replica is in the cache file.
struct Saving: Sendable {
    /// The version of the replica that the file holds; nil if that is not known.
    var savedVersion: Int?
    var isPlanned = false
    var lastSaved: ContinuousClock.Instant?
    /// True if the last attempt failed, which is reported once.
    var isTroubled = false

    /// Plans a save, and returns how long to wait with it; nil if one is planned.
    mutating func plan(after interval: Duration) -> Duration? {
        if isPlanned { return nil }
        isPlanned = true
        return lastSaved.map { max(.zero, $0 + interval - .now) } ?? .zero
    }
}

extension SuiteSession {
    func saveAsPlanned() {
        state.withLock { $0.saving.isPlanned = false }
        saveCache()
    }

    /// Saves what the file does not hold. After a failure the next change tries again.
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
            let isSaved = try cache.save(contents)
            state.withLock { state in
                if isSaved { state.saving.isTroubled = false } else { state.saving.savedVersion = nil }
            }
        } catch {
            let isNews = state.withLock { state in
                state.saving.savedVersion = nil
                defer { state.saving.isTroubled = true }
                return !state.saving.isTroubled
            }
            if isNews { report(.unusableFile(path: cache.path, reason: error.reason), nil, .write) }
        }
    }
}

/// The sessions with a cache, which save it when the program ends: a session that a global holds is never released.
enum CachesAtExit {
    private struct Entry {
        weak var session: SuiteSession?
    }

    private static let entries = Mutex<[Entry]>([])
    private static let isRegistered: Bool = CurrentProcess.addExitHandler { CachesAtExit.saveAll() }

    static func add(_ session: SuiteSession) {
        _ = isRegistered
        entries.withLock { entries in
            entries.removeAll { $0.session == nil }
            entries.append(Entry(session: session))
        }
    }

    private static func saveAll() {
        for session in entries.withLock({ $0.compactMap(\.session) }) { session.disk.sync { session.saveCache() } }
    }
}
