internal import Platform
internal import SettingsAPI
package import SettingsEngine
internal import SettingsModel
package import SettingsStorage

/// The operations on a commit log in etcd that an operator starts from the command line.
package struct ClusterTool {
    /// The error of an operation, with the advice for the operator.
    package struct Failure: Error {
        package enum Kind {
            /// The contents of etcd or of the data directory do not allow the operation.
            case refused
            /// There is no log in etcd under the prefix, or a daemon changed the log during the operation.
            case unavailable
        }

        package let kind: Kind
        package let problem: String
        /// The remedy for the operator; nil if no remedy is known.
        package let remedy: String?

        init(_ kind: Kind, _ problem: String, remedy: String?) {
            (self.kind, self.problem, self.remedy) = (kind, problem, remedy)
        }
    }

    private static let timeout = Duration.seconds(60)

    /// The prefix of the keys of the log in etcd.
    private let prefix: String
    private let limits: History.Limits
    private let printLine: (String) -> Void
    private let keys: LogKeys
    private var client: EtcdClient

    /// - Parameters:
    ///   - limits: the limits of the history in memory in the states that the operations read.
    ///   - printLine: prints a line about the result of an operation.
    package init(_ options: EtcdOptions, limits: History.Limits, printLine: @escaping (String) -> Void) {
        prefix = options.prefix
        self.limits = limits
        self.printLine = printLine
        keys = LogKeys(options.prefix)
        client = EtcdClient(options)
    }

    private var deadline: ContinuousClock.Instant { .now + Self.timeout }

    /// Reads the head of the last batch in the log; nil if there is no log.
    private mutating func readEnd() throws -> LogHead? {
        // No batch has a number this high, so the read returns only the head of the log. The number is not `.max`,
        // because `readLog` adds 1 to it.
        try client.readLog(after: .max - 1, keys, by: deadline).head
    }

    /// Reads the records of the daemons that follow the log.
    private mutating func readDaemons() throws -> [EtcdPair] {
        let read = EtcdTransaction(success: [.range(EtcdRange(key: keys.daemons, end: keys.daemonsEnd))])
        return try client.call(read, isRepeatable: true, by: deadline).ranges[0]
    }

    /// Prints the end of the log, its snapshot, and the daemons that follow the log.
    package mutating func printStatus() throws {
        guard let end = try readEnd() else {
            throw Failure(
                .unavailable, "cannot show the status: there is no log in etcd under \(prefix)",
                remedy: "start a daemon, or run settingsd cluster import DIR: both create the log")
        }
        printLine(
            "epoch \(end.epoch), revision \(end.revision), batch \(end.batch), \(end.logBytes) bytes in all batches")
        if let snapshot = try client.readSnapshotPointer(keys, by: deadline) {
            let head = snapshot.head
            printLine("snapshot of revision \(head.revision), batch \(head.batch), \(snapshot.bytes) bytes")
        } else {
            printLine("no snapshot yet")
        }
        let daemons = try readDaemons()
        printLine("daemons: \(daemons.count)")
        for daemon in daemons { printLine("  " + String(decoding: daemon.value, as: UTF8.self)) }
    }

    /// Creates a log in etcd from the data of a daemon without etcd. Keeps the revisions and the history, and also the
    /// epoch unless the directory may have lost commits.
    package mutating func importData(_ directory: DataDirectory) throws {
        guard try readEnd() == nil else {
            throw Failure(
                .refused, "cannot import: etcd already contains a log under \(prefix); nothing was changed",
                remedy: "choose another prefix with --etcd.prefix")
        }
        try directory.switchUserToOwner()
        let lock = try DirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        guard var recovery = try Recovery(of: directory, limits: limits) else {
            throw Failure(
                .refused, "cannot import \(directory.path): it contains no data",
                remedy: "give the path of the data directory of a daemon")
        }
        // If the directory may have lost commits, begin a new epoch, because clients may have cursors of these commits.
        let beginsEpoch = recovery.mustBeginEpoch
        if beginsEpoch { recovery = try recovery.beginningEpoch(Epoch.random(), in: directory) }
        for note in recovery.notes { printLine(note.description) }
        let state = recovery.state
        let head = LogHead.beginning(state.epoch, at: state.revision, writer: "import")
        // One deadline for all parts of the snapshot. Each part has its own key in etcd, with the random name of the
        // snapshot.
        let deadline = deadline
        let snapshot = try client.putParts(of: state, at: head, as: LogHead.randomID(), keys, in: directory) {
            (client, part) throws(EtcdError) in
            _ = try client.call(EtcdTransaction(success: [part]), isRepeatable: true, by: deadline)
        }
        // A condition without a value holds if its key does not exist. `lines` is empty, because the batch has no
        // commits.
        let begin = EtcdTransaction(
            conditions: [.init(key: keys.head), .init(key: keys.snapshotPointer)],
            success: [
                .put(keys.snapshotPointer, snapshot.value),
                .put(keys.batch(head.batch), LogEntry(head, lines: []).value), .put(keys.head, head.line),
            ])
        guard try client.call(begin, by: deadline).conditionsHeld else {
            throw Failure(
                .refused, "cannot import: a daemon created a log in etcd at the same time; nothing was imported",
                remedy: "stop the daemon, and choose another prefix with --etcd.prefix")
        }
        printLine("imported: \(state.summary), at \(state.cursor)")
        printLine(
            "start daemons with --etcd.endpoints and new data directories; "
                + (beginsEpoch
                    ? "the epoch is new, so clients load all settings again" : "clients can resume from their cursors"))
    }

    /// Creates the data directory of a daemon without etcd from the log in etcd.
    package mutating func exportData(_ directory: DataDirectory) throws {
        guard try readDaemons().isEmpty else {
            throw Failure(
                .refused, "cannot export: daemons still follow this log and may change it; nothing was changed",
                remedy: "stop the daemons; if a daemon was killed, wait \(DaemonRecord.leaseSeconds) seconds")
        }
        try directory.switchUserToOwner()
        let lock = try DirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        let listing = try directory.mapErrors { () throws(FileError) in try directory.list() }
        // Past files contain older commits. The file `CLUSTER` exists in the directory of a daemon with etcd.
        guard listing.journals.isEmpty, listing.snapshots.isEmpty, listing.pastFiles.isEmpty,
            !listing.contains(DataDirectory.clusterName)
        else {
            throw Failure(
                .refused, "cannot export to \(directory.path): it already contains data; nothing was changed",
                remedy: "choose another directory")
        }
        guard
            let found = try client.readState(
                keys, limits: limits, in: directory, by: .now + EtcdClient.stateReadTimeout)
        else {
            throw Failure(
                .unavailable, "cannot export: there is no log in etcd under \(prefix)", remedy: "check --etcd.prefix")
        }
        try directory.mapErrors { () throws(FileError) in try directory.writeInitialFiles(for: found.state) }
        printLine("exported: \(found.state.summary), at \(found.state.cursor)")
        printLine(
            "start a daemon with --data \(directory.path); do not start other daemons on this log in etcd, because the "
                + "exported data would not have their commits")
    }

    /// Begins a new epoch (another history, whose revisions are far above all previous revisions). Operators do this if
    /// etcd was restored from a backup and no daemon is left that has newer commits. Without a new epoch, the daemons
    /// would assign revisions again that clients have already seen.
    package mutating func beginEpoch() throws {
        guard let end = try readEnd() else {
            throw Failure(
                .unavailable, "cannot begin an epoch: there is no log in etcd under \(prefix)",
                remedy: "check --etcd.prefix")
        }
        let epoch = Epoch.random()
        try client.beginEpoch(epoch, beyond: end.revision, after: end, writer: "new-epoch", keys, by: deadline)
        guard let current = try readEnd(), current.epoch == epoch else {
            throw Failure(
                .unavailable, "cannot begin an epoch: a daemon wrote to the log at the same time; nothing was changed",
                remedy: "run the command again")
        }
        printLine("epoch \(current.epoch) begins at revision \(current.revision): watching clients reload all settings")
    }
}
