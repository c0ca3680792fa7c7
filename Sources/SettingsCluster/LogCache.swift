internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
package import SettingsStorage
internal import Synchronization

/// The data directory of a daemon whose commit log is in etcd. It contains a copy of the state, for a fast start or a
/// start without etcd.
///
/// The log is a sequence of batches, which are groups of commits. The copy is one snapshot file, and the file
/// `CLUSTER`, which has the name of the snapshot file and the head of the last batch in the snapshot: a line that
/// identifies the batch. A copy of another log is set aside: its files get other names.
package final class LogCache: Sendable {
    private let directory: DataDirectory
    /// Nil after ``release()``.
    private let directoryLock: Mutex<DirectoryLock?>
    /// The prefix of the keys in etcd. It identifies the log; the addresses of etcd do not, because they may change.
    private let prefix: String

    private struct Copy {
        /// The prefix of the keys of the log from which the copy was made.
        let prefix: String
        /// The name of the snapshot file.
        let snapshot: String
        let state: State
        let head: LogHead
        /// When the daemon that wrote the copy had last learned from etcd where the log ends.
        let time: Timestamp
    }

    private init(_ directory: DataDirectory, _ lock: DirectoryLock, _ prefix: String) {
        (self.directory, self.prefix) = (directory, prefix)
        directoryLock = Mutex(lock)
    }

    /// Locks a directory and reads the copy. Returns nil for the copy and its ``Copy/time`` if there is no copy of the
    /// state of the log with the given prefix.
    static func open(
        _ directory: DataDirectory, prefix: String, limits: History.Limits, log: Log
    ) throws(RecoveryError) -> (LogCache, (LogInbox.LoadedState, Timestamp)?) {
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
            // The format of `LOCK` requires an identifier of the directory. A daemon with etcd does not use it.
            try directory.writeLockFile(directoryID: "cluster")
            for name in listing.temporaries { try directory.fileSystem.remove(directory.path(of: name)) }
            // Write `CLUSTER` before the first snapshot. In the other order, a crash between the two writes would leave
            // a snapshot without `CLUSTER`, and the next start would refuse the directory.
            if isNew { try cache.writeClusterFileWithoutCopy() }
        }
        if isNew { return (cache, nil) }
        do {
            guard let copy = try read(directory, limits) else {
                // The previous daemon ended before its first copy. Its log may have had another prefix.
                try cache.writeClusterFileWithoutCopy()
                return (cache, nil)
            }
            if copy.prefix.hasSameBytes(as: prefix) {
                return (cache, (LogInbox.LoadedState(state: copy.state, head: copy.head), copy.time))
            }
            log.warning(
                "\(directory.path) has a copy of the data under another prefix in etcd, \(copy.prefix); the daemon "
                    + "renames the files of the copy and reads the state from etcd")
        } catch {
            log.warning(
                "cannot read the copy of the data in \(directory.path): \(error); the daemon renames the files of the copy "
                    + "and reads the state from etcd")
        }
        try directory.mapErrors { () throws(FileError) in
            for name in listing.snapshots.map(\.name) + [DataDirectory.clusterName] {
                try directory.fileSystem.rename(
                    directory.path(of: name), to: directory.path(of: listing.unusedSetAsideName(for: name)))
            }
            try cache.writeClusterFileWithoutCopy()
        }
        return (cache, nil)
    }

    /// True if the directory belongs to a daemon whose log is in etcd.
    package static func exists(in directory: DataDirectory) throws(RecoveryError) -> Bool {
        try directory.mapErrors { () throws(FileError) in try directory.list() }.contains(DataDirectory.clusterName)
    }

    /// Verifies the copy in a directory without changes. Returns a report for the operator, and whether the copy is
    /// undamaged; nil if the directory does not belong to a daemon whose log is in etcd.
    package static func check(_ directory: DataDirectory) throws(RecoveryError) -> (lines: [String], isSound: Bool)? {
        guard try exists(in: directory) else { return nil }
        do {
            guard let copy = try read(directory, History.Limits()) else {
                return (["this directory contains no copy of the data in etcd yet"], true)
            }
            let lines = [
                "\(copy.snapshot): \(copy.state.summary), sound",
                "\(DataDirectory.clusterName): a copy of the data in etcd under \(copy.prefix), of \(copy.time), sound",
                "a daemon that starts here reads the later commits from etcd",
            ]
            return (lines, true)
        } catch let error as RecoveryError where error.kind == .inaccessible {
            throw error
        } catch {
            let advice = "a daemon that starts here sets the copy aside and reads the whole state from etcd"
            return (["\(error)", advice], false)
        }
    }

    /// Reads the copy in a directory; nil if `CLUSTER` names no snapshot yet.
    private static func read(_ directory: DataDirectory, _ limits: History.Limits) throws -> Copy? {
        let bytes = try directory.mapErrors { () throws(FileError) in
            try OpenFile(directory.path(of: DataDirectory.clusterName), .reading, in: directory.fileSystem).readAll()
        }
        let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
        let metadata = try JSONValue(parsing: Array(bytes[..<end]))
        guard let prefix = metadata["prefix"]?.string else {
            throw LogDamage("the file \(DataDirectory.clusterName) does not contain the key prefix of the log in etcd")
        }
        guard let snapshot = metadata["snapshot"]?.string, let time = metadata["time"]?.integer else { return nil }
        let head = try LogHead(Array(bytes[end...].dropFirst()))
        let state = try SnapshotReader.read(named: snapshot, in: directory, limits: limits).state
        guard state.cursor == Cursor(epoch: head.epoch, revision: head.revision) else {
            throw LogDamage("\(snapshot) does not end at the revision that \(DataDirectory.clusterName) names")
        }
        return Copy(prefix: prefix, snapshot: snapshot, state: state, head: head, time: Timestamp(milliseconds: time))
    }

    /// Writes a `CLUSTER` that has the prefix of the log, but names no snapshot.
    private func writeClusterFileWithoutCopy() throws(FileError) {
        try writeClusterFile(["format": 1, "prefix": .string(prefix)], head: [])
    }

    /// - Parameter head: the line of the head of the last batch in the copy; empty if there is no copy.
    private func writeClusterFile(_ metadata: JSONObject, head: [UInt8]) throws(FileError) {
        let bytes = JSONValue.object(metadata).bytes() + [UInt8(ascii: "\n")] + head
        _ = try directory.writeTemporary(DataDirectory.clusterName, bytes)
        try directory.renameTemporary(DataDirectory.clusterName)
    }

    /// - Parameters:
    ///   - head: the head of the last batch in the state.
    ///   - staleness: the time since the daemon last learned from etcd where the log ends.
    func save(_ state: State, at head: LogHead, staleness: Duration) throws(FileError) {
        // The format requires the revision of a journal. This revision has no effect, because the directory has no
        // journals.
        _ = try SnapshotWriter.write(state, journal: state.revision, in: directory)
        let name = DataDirectory.snapshotName(at: state.revision)
        let metadata: JSONObject = [
            "format": 1, "prefix": .string(prefix), "snapshot": .string(name),
            "time": .integer(Timestamp.now().milliseconds - Int64(staleness / .milliseconds(1))),
        ]
        try writeClusterFile(metadata, head: head.line)
        for snapshot in try directory.list().snapshots where !snapshot.name.hasSameBytes(as: name) {
            try directory.fileSystem.remove(directory.path(of: snapshot.name))
        }
    }

    /// Throws if the directory was moved or removed.
    func verifyPath() throws(FileError) { try directoryLock.withLock { $0 }?.verifyPath() }

    /// Unlocks the directory. The calling code writes nothing to it afterwards.
    func release() {
        // The closure returns the directory lock, so that its files are closed after the mutex is unlocked.
        _ = directoryLock.withLock { $0.take() }
    }
}
