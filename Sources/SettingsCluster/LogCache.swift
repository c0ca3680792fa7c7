internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
package import SettingsStorage
internal import Synchronization

/// A data directory of a daemon in a cluster: a copy of what etcd has, for a fast start, and for one without etcd.
///
/// It has one snapshot, and `CLUSTER`, which names that with its place in the log. A directory of another log is set aside;
/// one of a lone daemon is refused.
package final class LogCache: Sendable {
    private let directory: DataDirectory
    /// Nil after ``release()``.
    private let lock: Mutex<DirectoryLock?>
    private let prefix: String

    /// A copy of a log, as it is read.
    private struct Copy {
        let prefix: String
        let snapshot: String
        let state: State
        let head: LogHead
        let time: Timestamp
    }

    private init(_ directory: DataDirectory, _ lock: DirectoryLock, _ prefix: String) {
        (self.directory, self.prefix) = (directory, prefix)
        self.lock = Mutex(lock)
    }

    /// Locks a directory and reads its copy of a log, with the time at which the daemon last heard of the end of the log.
    ///
    /// - Parameter prefix: the keys of the log, with the members of etcd left out: they may change.
    static func open(
        _ directory: DataDirectory, prefix: String, limits: History.Limits, log: Log
    ) throws(RecoveryError) -> (LogCache, (LogInbox.Replacement, Timestamp)?) {
        let lock = try DirectoryLock(directory)
        let listing = try directory.mapErrors { () throws(FileError) in try directory.list() }
        let cache = LogCache(directory, lock, prefix)
        let isNew = !listing.contains(DataDirectory.clusterName)
        guard !isNew || listing.journals.isEmpty && listing.snapshots.isEmpty else {
            throw RecoveryError(
                .inaccessible,
                "\(directory.path) has the data of a daemon without etcd; choose another directory with --data")
        }
        try directory.mapErrors { () throws(FileError) in
            try directory.writeLockFile(directoryID: "cluster")
            for name in listing.temporaries { try directory.fileSystem.remove(directory.path(of: name)) }
            // Before the first snapshot: with that alone the directory would be one of a daemon without etcd.
            if isNew { try cache.begin() }
        }
        if isNew { return (cache, nil) }
        do {
            guard let copy = try read(directory, limits) else {
                // A daemon ended before it had copied anything, perhaps of another log.
                try cache.begin()
                return (cache, nil)
            }
            if copy.prefix.hasSameBytes(as: prefix) {
                return (cache, (LogInbox.Replacement(state: copy.state, head: copy.head), copy.time))
            }
            log.warning("\(directory.path) has a copy of another log; it is set aside")
        } catch {
            log.warning("the copy of the log in \(directory.path) cannot be read: \(error); it is set aside")
        }
        try directory.mapErrors { () throws(FileError) in
            for name in listing.snapshots.map(\.name) + [DataDirectory.clusterName] {
                try directory.fileSystem.rename(
                    directory.path(of: name), to: directory.path(of: listing.unusedSetAsideName(for: name)))
            }
            try cache.begin()
        }
        return (cache, nil)
    }

    /// True if a directory is one of a daemon in a cluster.
    package static func isAt(_ directory: DataDirectory) throws(RecoveryError) -> Bool {
        try directory.mapErrors { () throws(FileError) in try directory.list() }.contains(DataDirectory.clusterName)
    }

    /// Says what a directory has of a log, and changes nothing; nil if it is none of a daemon in a cluster.
    package static func check(
        _ directory: DataDirectory
    ) throws(RecoveryError) -> (lines: [String], isSound: Bool)? {
        guard try isAt(directory) else { return nil }
        do {
            guard let copy = try read(directory, History.Limits()) else {
                return (["nothing of the log in etcd is copied here yet"], true)
            }
            let lines = [
                "\(copy.snapshot): \(copy.state.summary), sound",
                "\(DataDirectory.clusterName): a copy of the log in etcd under \(copy.prefix), of \(copy.time), sound",
                "a start goes on from there with what etcd has",
            ]
            return (lines, true)
        } catch let error as RecoveryError where error.kind == .inaccessible {
            throw error
        } catch {
            return (["\(error)", "a start sets the copy aside, and reads all from etcd"], false)
        }
    }

    /// Reads the copy in a directory; nil if there is none yet.
    private static func read(_ directory: DataDirectory, _ limits: History.Limits) throws -> Copy? {
        let bytes = try directory.mapErrors { () throws(FileError) in
            try OpenFile(directory.path(of: DataDirectory.clusterName), .reading, in: directory.fileSystem).readAll()
        }
        let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
        let mark = try JSONValue(parsing: Array(bytes[..<end]))
        guard let prefix = mark["prefix"]?.string else { throw LogDamage("\(DataDirectory.clusterName) names no log") }
        guard let snapshot = mark["snapshot"]?.string, let time = mark["time"]?.integer else { return nil }
        let head = try LogHead(Array(bytes[end...].dropFirst()))
        let state = try SnapshotReader.read(named: snapshot, in: directory, limits: limits).state
        guard state.cursor == Cursor(epoch: head.epoch, revision: head.revision) else {
            throw LogDamage("\(snapshot) is of another place than \(DataDirectory.clusterName) says")
        }
        return Copy(
            prefix: prefix, snapshot: snapshot, state: state, head: head, time: Timestamp(milliseconds: time))
    }

    /// Makes the directory one of a cluster, without a copy yet.
    private func begin() throws(FileError) {
        try place(["format": 1, "prefix": .string(prefix)], [])
    }

    private func place(_ mark: JSONObject, _ head: [UInt8]) throws(FileError) {
        let bytes = JSONValue.object(mark).bytes() + [UInt8(ascii: "\n")] + head
        _ = try directory.writeTemporary(DataDirectory.clusterName, bytes)
        try directory.renameTemporary(DataDirectory.clusterName)
    }

    /// Replaces the copy.
    ///
    /// - Parameter silence: the time since the daemon last heard of the end of the log.
    func save(_ state: State, at head: LogHead, silence: Duration) throws(FileError) {
        _ = try SnapshotWriter.write(state, journal: state.revision, in: directory)
        let name = DataDirectory.snapshotName(at: state.revision)
        let mark: JSONObject = [
            "format": 1, "prefix": .string(prefix), "snapshot": .string(name),
            "time": .integer(Timestamp.now().milliseconds - Int64(silence / .milliseconds(1))),
        ]
        try place(mark, head.line)
        for snapshot in try directory.list().snapshots where !snapshot.name.hasSameBytes(as: name) {
            try directory.fileSystem.remove(directory.path(of: snapshot.name))
        }
    }

    /// Throws if the directory was moved or removed.
    func checkPlace() throws(FileError) {
        try lock.withLock { $0 }?.verifyPath()
    }

    /// Releases the directory. Nothing is written to it afterwards.
    func release() {
        // Freed outside the mutex.
        _ = lock.withLock { $0.take() }
    }
}
