internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A data directory of a daemon in a cluster: a copy of what etcd has, for a fast start, and for one without etcd.
///
/// It has one snapshot, and `CLUSTER`, which names that with its place in the log. A directory of another log is set aside;
/// one of a lone daemon is refused.
final class LogCache: Sendable {
    private let directory: DataDirectory
    /// Nil after ``release()``.
    private let lock: Mutex<DirectoryLock?>
    private let prefix: String

    private init(_ directory: DataDirectory, _ lock: DirectoryLock, _ prefix: String) {
        (self.directory, self.prefix) = (directory, prefix)
        self.lock = Mutex(lock)
    }

    /// Locks a directory and reads what it has of a log, with the time when that was written.
    ///
    /// - Parameter prefix: the keys of the log, with the members of etcd left out: they may change.
    static func open(
        _ directory: DataDirectory, prefix: String, limits: History.Limits, log: Log
    ) throws(RecoveryError) -> (LogCache, (LogInbox.Replacement, Timestamp)?) {
        let lock = try DirectoryLock(directory)
        let listing = try directory.reading { () throws(FileError) in try directory.list() }
        let cache = LogCache(directory, lock, prefix)
        let isNew = !listing.contains(DataDirectory.clusterName)
        guard !isNew || listing.journals.isEmpty && listing.snapshots.isEmpty else {
            throw RecoveryError(
                .inaccessible,
                "\(directory.path) has the data of a daemon without etcd; choose another directory with --data")
        }
        try directory.reading { () throws(FileError) in
            try directory.mark(as: "cluster")
            for name in listing.temporaries { try directory.fileSystem.remove(directory.path(of: name)) }
            // Before the first snapshot: with that alone the directory would be one of a daemon without etcd.
            if isNew { try cache.begin() }
        }
        if isNew { return (cache, nil) }
        do {
            if let found = try cache.read(limits) { return (cache, found) }
            log.warning("\(directory.path) has a copy of another log; it is set aside")
        } catch {
            log.warning("the copy of the log in \(directory.path) cannot be read: \(error); it is set aside")
        }
        try directory.reading { () throws(FileError) in
            for name in listing.snapshots.map(\.name) + [DataDirectory.clusterName] {
                try directory.fileSystem.rename(
                    directory.path(of: name), to: directory.path(of: listing.freeAsideName(of: name)))
            }
            try cache.begin()
        }
        return (cache, nil)
    }

    /// Reads the copy; nil if it is one of another log.
    private func read(_ limits: History.Limits) throws -> (LogInbox.Replacement, Timestamp)? {
        let bytes = try OpenFile(directory.path(of: DataDirectory.clusterName), .reading, in: directory.fileSystem)
            .readAll()
        let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
        let mark = try JSONValue(parsing: Array(bytes[..<end]))
        guard let found = mark["prefix"]?.string, let name = mark["snapshot"]?.string,
            let time = mark["time"]?.integer
        else {
            throw LogDamage("\(DataDirectory.clusterName) names no copy")
        }
        guard found.hasSameBytes(as: prefix) else { return nil }
        let head = try LogHead(Array(bytes[end...].dropFirst()))
        let state = try SnapshotReader.read(named: name, in: directory, limits: limits).state
        guard state.cursor == Cursor(epoch: head.epoch, revision: head.revision) else {
            throw LogDamage("\(name) is of another place than \(DataDirectory.clusterName) says")
        }
        return (LogInbox.Replacement(state: state, head: head), Timestamp(milliseconds: time))
    }

    /// Makes the directory one of a cluster, without a copy yet.
    private func begin() throws(FileError) {
        try place(["format": 1, "prefix": .string(prefix)], [])
    }

    private func place(_ mark: JSONObject, _ head: [UInt8]) throws(FileError) {
        let bytes = JSONValue.object(mark).bytes() + [UInt8(ascii: "\n")] + head
        _ = try directory.writeTemporary(DataDirectory.clusterName, bytes)
        try directory.placeTemporary(DataDirectory.clusterName)
    }

    /// Writes a state in place of the one before.
    func save(_ state: State, at head: LogHead) throws(FileError) {
        _ = try SnapshotWriter.write(state, journal: state.revision, in: directory)
        let name = DataDirectory.snapshotName(at: state.revision)
        let mark: JSONObject = [
            "format": 1, "prefix": .string(prefix), "snapshot": .string(name),
            "time": .integer(Timestamp.now().milliseconds),
        ]
        try place(mark, head.line)
        for snapshot in try directory.list().snapshots where !snapshot.name.hasSameBytes(as: name) {
            try directory.fileSystem.remove(directory.path(of: snapshot.name))
        }
    }

    /// Throws if the directory was moved or removed.
    func checkPlace() throws(FileError) {
        try lock.withLock { $0 }?.checkPlace()
    }

    /// Releases the directory. Nothing is written to it afterwards.
    func release() {
        // Freed outside the mutex.
        _ = lock.withLock { $0.take() }
    }
}
