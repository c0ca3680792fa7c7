internal import Platform
internal import SettingsAPI
package import SettingsEngine
internal import SettingsModel
package import SettingsStorage

/// The operations on a log in etcd that an operator starts from the command line.
package struct ClusterTool {
    /// The reason why an operation did not happen.
    package struct Failure: Error {
        package enum Kind {
            /// The operation does not fit what etcd or the data directory contains.
            case refused
            /// etcd does not answer, or has no such log.
            case unavailable
        }

        package let kind: Kind
        package let problem: String
        package let remedy: String?

        init(_ kind: Kind, _ problem: String, remedy: String?) {
            (self.kind, self.problem, self.remedy) = (kind, problem, remedy)
        }
    }

    private static let time = Duration.seconds(60)

    private let prefix: String
    private let limits: History.Limits
    private let printLine: (String) -> Void
    private let keys: LogKeys
    private var client: EtcdClient

    /// - Parameters:
    ///   - limits: The limits of the history that an operation reads.
    ///   - printLine: Prints a line about the result of an operation.
    package init(_ options: EtcdOptions, limits: History.Limits, printLine: @escaping (String) -> Void) {
        prefix = options.prefix
        self.limits = limits
        self.printLine = printLine
        keys = LogKeys(options.prefix)
        client = EtcdClient(options)
    }

    private var deadline: ContinuousClock.Instant { .now + Self.time }

    /// Says where the log ends, what its snapshot has, and which daemons follow it.
    package mutating func printStatus() throws {
        guard let end = try client.readLog(behind: .max - 1, keys, by: deadline).head else {
            throw Failure(
                .unavailable, "there is no log in etcd under \(prefix)",
                remedy: "the first daemon that starts begins one, as does settingsd cluster import DIR")
        }
        printLine("epoch \(end.epoch), revision \(end.revision), batch \(end.batch), \(end.bytes) bytes so far")
        if let snapshot = try client.readSnapshotPointer(keys, by: deadline) {
            let head = snapshot.head
            printLine("snapshot of revision \(head.revision), batch \(head.batch), \(snapshot.bytes) bytes")
        } else {
            printLine("no snapshot yet")
        }
        let read = EtcdTransaction(success: [.range(EtcdRange(key: keys.daemons, end: keys.daemonsEnd))])
        let daemons = try client.call(read, isRepeatable: true, by: deadline).ranges[0]
        printLine("daemons: \(daemons.count)")
        for daemon in daemons { printLine("  " + String(decoding: daemon.value, as: UTF8.self)) }
    }

    /// Puts the data of a lone daemon into etcd, as a snapshot with which a log begins: epoch, revisions and history.
    package mutating func importData(_ directory: DataDirectory) throws {
        guard try client.readLog(behind: .max - 1, keys, by: deadline).head == nil else {
            throw Failure(
                .refused, "there is a log in etcd under \(prefix) already; nothing was changed",
                remedy: "choose another prefix with --etcd.prefix")
        }
        try directory.assumeOwner()
        let lock = try DirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        guard var recovery = try Recovery(of: directory, limits: limits) else {
            throw Failure(.refused, "\(directory.path) has no data", remedy: "name the directory of a daemon")
        }
        if recovery.mustBeginEpoch { recovery = try recovery.beginningEpoch(Epoch.random(), in: directory) }
        for note in recovery.notes { printLine(note.description) }
        let state = recovery.state
        let head = LogHead.beginning(state.epoch, at: state.revision, by: "import")
        let deadline = deadline
        let snapshot = try client.putParts(of: state, at: head, as: LogHead.randomID(), keys, in: directory) {
            (client, part) throws(EtcdError) in
            _ = try client.call(EtcdTransaction(success: [part]), isRepeatable: true, by: deadline)
        }
        let begin = EtcdTransaction(
            conditions: [
                EtcdTransaction.Condition(key: keys.head), EtcdTransaction.Condition(key: keys.snapshot),
            ],
            success: [
                .put(keys.snapshot, snapshot.value), .put(keys.batch(head.batch), LogEntry(head, lines: []).value),
                .put(keys.head, head.line),
            ])
        guard try client.call(begin, by: deadline).hasSucceeded else {
            throw Failure(
                .refused, "a daemon has begun a log in etcd meanwhile; nothing was changed",
                remedy: "stop it, and choose another prefix")
        }
        printLine("imported: \(state.summary), at \(state.cursor)")
        printLine("start daemons with --etcd.endpoints and a data directory of their own; clients just go on")
    }

    /// Makes a data directory for a lone daemon of what etcd has.
    package mutating func exportData(_ directory: DataDirectory) throws {
        let read = EtcdTransaction(success: [.range(EtcdRange(key: keys.daemons, end: keys.daemonsEnd))])
        guard try client.call(read, isRepeatable: true, by: deadline).ranges[0].isEmpty else {
            throw Failure(
                .refused, "daemons still follow this log, so the copy would soon be old; nothing was changed",
                remedy: "stop them, and wait \(ClusterMember.leaseSeconds) seconds if one was killed")
        }
        try directory.assumeOwner()
        let lock = try DirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        let listing = try directory.mapErrors { () throws(FileError) in try directory.list() }
        guard listing.journals.isEmpty, listing.snapshots.isEmpty, listing.pastFiles.isEmpty,
            !listing.contains(DataDirectory.clusterName)
        else {
            throw Failure(
                .refused, "\(directory.path) holds data already; nothing was changed",
                remedy: "choose another directory")
        }
        guard
            let found = try client.readState(
                keys, limits: limits, in: directory, by: .now + Self.time * 5)
        else {
            throw Failure(
                .unavailable, "there is no log in etcd under \(prefix)", remedy: "look at the prefix"
            )
        }
        try directory.mapErrors { () throws(FileError) in try directory.writeInitialFiles(for: found.state) }
        printLine("exported: \(found.state.summary), at \(found.state.cursor)")
        printLine("start a daemon with --data \(directory.path), and no other on this log in etcd")
    }

    /// Begins a new epoch, after etcd was restored and no daemon is left that knew more.
    package mutating func beginEpoch() throws {
        guard let end = try client.readLog(behind: .max - 1, keys, by: deadline).head else {
            throw Failure(
                .unavailable, "there is no log in etcd under \(prefix)", remedy: "look at the prefix"
            )
        }
        let epoch = Epoch.random()
        try client.beginEpoch(epoch, beyond: end.revision, behind: end, by: "new-epoch", keys, by: deadline)
        let now = try client.readLog(behind: .max - 1, keys, by: deadline).head
        guard let now, now.epoch == epoch else {
            throw Failure(
                .unavailable, "a daemon wrote at the same moment; nothing was changed", remedy: "try again")
        }
        printLine("epoch \(now.epoch) begins at revision \(now.revision): clients begin anew")
    }
}
