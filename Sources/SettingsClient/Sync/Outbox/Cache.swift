internal import Dispatch
internal import Glibc
internal import Platform
internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// A file that holds what was known last of a suite: one line with a check.
///
///     {"crc":"…","cache":1,"server":"http://127.0.0.1:7070","suite":"com.my.app","state":{…}}
///
/// It may be lost at any time, so nothing is synced, and a damaged file counts as none.
struct CacheFile: Sendable {
    let path: String
    private let directory: String
    private let owner: KeptOwner
    private let files: any FileSystem

    private static let version: Int64 = 1

    init(in directory: String, of owner: KeptOwner, files: any FileSystem = POSIXFileSystem()) {
        path = "\(directory)/state.json"
        self.directory = directory
        self.owner = owner
        self.files = files
    }

    /// Returns the state that was saved last; nil if there is none that can be used.
    func read() -> ObservedState? {
        guard let bytes = try? OpenFile(path, .reading, in: files).readAll(), bytes.last == UInt8(ascii: "\n"),
            let json = CheckedLine.object(in: bytes.dropLast()), json["cache"]?.integer == Self.version,
            json["server"]?.string == owner.server, json["suite"]?.string == owner.suite.text,
            let state = json["state"]
        else { return nil }
        return try? ObservedState(json: state)
    }

    /// Replaces the saved state in one step. False if another program is doing that at this moment.
    func save(_ state: ObservedState) throws(FileError) -> Bool {
        try files.makeDirectory(directory)
        let name = "\(path).new"
        let draft = try OpenFile(name, .creating, in: files, toBe: path)
        guard try draft.lock(), try draft.stands(at: name) else { return false }
        do throws(FileError) {
            // A program that ended in the middle has left its draft.
            try draft.truncate(to: 0)
            try draft.write(bytes(of: state).span, at: 0)
            try files.rename(name, to: path)
        } catch {
            try? files.remove(name)
            throw error
        }
        return true
    }

    private func bytes(of state: ObservedState) -> [UInt8] {
        var writer = JSONWriter(reservingCapacity: 1024)
        writer.beginObject()
        writer.name("cache")
        writer.write(integer: Self.version)
        writer.name("server")
        writer.write(string: owner.server)
        writer.name("suite")
        writer.write(string: owner.suite.text)
        writer.name("state")
        state.write(to: &writer)
        writer.endObject()
        return CheckedLine.line(of: writer.bytes)
    }
}

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
    private static let isRegistered: Bool = atexit { CachesAtExit.saveAll() } == 0

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
