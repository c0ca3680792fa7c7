internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The commands on a log in etcd: `settingsd cluster …`.
struct ClusterTool {
    private static let time = Duration.seconds(60)

    private let command: Arguments.ClusterCommand
    private let configuration: Configuration
    private let keys: LogKeys
    private var client: EtcdClient

    init(_ command: Arguments.ClusterCommand, _ configuration: Configuration) throws(ProgramError) {
        guard command.verb != nil else {
            throw ProgramError(
                .usage, "cluster needs a command",
                remedy: "write settingsd cluster status, import DIR, export DIR or new-epoch")
        }
        guard !configuration.etcd.endpoints.isEmpty else {
            throw ProgramError(.usage, "no member of etcd is named", remedy: "name one with --etcd.endpoints")
        }
        self.command = command
        self.configuration = configuration
        keys = LogKeys(configuration.etcd.prefix)
        client = EtcdClient(configuration.etcd)
    }

    func run() throws(ProgramError) {
        var tool = self
        do {
            switch command.verb {
            case .import: try tool.importData(try directory())
            case .export: try tool.exportData(try directory())
            case .newEpoch: try tool.beginEpoch()
            case .status, nil: try tool.printStatus()
            }
        } catch let error as EtcdError {
            throw ProgramError(.unavailable, "etcd: \(error)", remedy: nil)
        } catch let error as RecoveryError {
            throw ProgramError(StartError.recovery(error))
        } catch {
            throw ProgramError(error)
        }
    }

    private func directory() throws(ProgramError) -> DataDirectory {
        guard let path = command.directory else {
            let verb = command.verb?.rawValue ?? ""
            throw ProgramError(
                .usage, "cluster \(verb) needs a directory", remedy: "write settingsd cluster \(verb) DIR")
        }
        return DataDirectory(path)
    }

    private var deadline: ContinuousClock.Instant { .now + Self.time }

    /// Says where the log ends, what its snapshot has, and which daemons follow it.
    private mutating func printStatus() throws {
        guard let end = try client.readLog(behind: .max - 1, keys, by: deadline).head else {
            throw ProgramError(
                .unavailable, "there is no log in etcd under \(configuration.etcd.prefix)",
                remedy: "the first daemon that starts begins one, as does settingsd cluster import DIR")
        }
        Program.say("epoch \(end.epoch), revision \(end.revision), batch \(end.batch), \(end.bytes) bytes so far")
        if let snapshot = try client.readSnapshotPointer(keys, by: deadline) {
            let head = snapshot.head
            Program.say("snapshot of revision \(head.revision), batch \(head.batch), \(snapshot.bytes) bytes")
        } else {
            Program.say("no snapshot yet")
        }
        let read = EtcdTransaction(success: [.range(EtcdRange(key: keys.daemons, end: keys.daemonsEnd))])
        let daemons = try client.call(read, isRepeatable: true, by: deadline).ranges[0]
        Program.say("daemons: \(daemons.count)")
        for daemon in daemons { Program.say("  " + String(decoding: daemon.value, as: UTF8.self)) }
    }

    /// Puts the data of a lone daemon into etcd, as a snapshot with which a log begins: epoch, revisions and history.
    private mutating func importData(_ directory: DataDirectory) throws {
        guard try client.readLog(behind: .max - 1, keys, by: deadline).head == nil else {
            throw ProgramError(
                .usage, "there is a log in etcd under \(configuration.etcd.prefix) already; nothing was changed",
                remedy: "choose another prefix with --etcd.prefix")
        }
        try Program.assumeOwner(of: directory)
        let lock = try DirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        guard var recovery = try Recovery(of: directory, limits: configuration.history) else {
            throw ProgramError(.usage, "\(directory.path) has no data", remedy: "name the directory of a daemon")
        }
        if recovery.mustBeginEpoch { recovery = try recovery.beginning(Epoch.random(), in: directory) }
        for note in recovery.notes { Program.say(note.description) }
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
            throw ProgramError(
                .usage, "a daemon has begun a log in etcd meanwhile; nothing was changed",
                remedy: "stop it, and choose another prefix")
        }
        Program.say("imported: \(state.contents), at \(state.cursor)")
        Program.say("start daemons with --etcd.endpoints and a data directory of their own; clients just go on")
    }

    /// Makes a data directory for a lone daemon of what etcd has.
    private mutating func exportData(_ directory: DataDirectory) throws {
        let read = EtcdTransaction(success: [.range(EtcdRange(key: keys.daemons, end: keys.daemonsEnd))])
        guard try client.call(read, isRepeatable: true, by: deadline).ranges[0].isEmpty else {
            throw ProgramError(
                .usage, "daemons still follow this log, so the copy would soon be old; nothing was changed",
                remedy: "stop them, and wait \(ClusterMember.leaseSeconds) seconds if one was killed")
        }
        try Program.assumeOwner(of: directory)
        let lock = try DirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        let listing = try directory.reading { () throws(FileError) in try directory.list() }
        guard listing.journals.isEmpty, listing.snapshots.isEmpty, listing.past.isEmpty,
            !listing.contains(DataDirectory.clusterName)
        else {
            throw ProgramError(
                .usage, "\(directory.path) holds data already; nothing was changed", remedy: "choose another directory")
        }
        guard
            let found = try client.readState(
                keys, limits: configuration.history, in: directory, by: .now + Self.time * 5)
        else {
            throw ProgramError(
                .unavailable, "there is no log in etcd under \(configuration.etcd.prefix)", remedy: "look at the prefix"
            )
        }
        try directory.reading { () throws(FileError) in try directory.begin(with: found.state) }
        Program.say("exported: \(found.state.contents), at \(found.state.cursor)")
        Program.say("start a daemon with --data \(directory.path), and no other on this log in etcd")
    }

    /// Begins a new epoch, after etcd was restored and no daemon is left that knew more.
    private mutating func beginEpoch() throws {
        guard let end = try client.readLog(behind: .max - 1, keys, by: deadline).head else {
            throw ProgramError(
                .unavailable, "there is no log in etcd under \(configuration.etcd.prefix)", remedy: "look at the prefix"
            )
        }
        let epoch = Epoch.random()
        try client.beginEpoch(epoch, beyond: end.revision, behind: end, by: "new-epoch", keys, by: deadline)
        let now = try client.readLog(behind: .max - 1, keys, by: deadline).head
        guard let now, now.epoch == epoch else {
            throw ProgramError(
                .unavailable, "a daemon wrote at the same moment; nothing was changed", remedy: "try again")
        }
        Program.say("epoch \(now.epoch) begins at revision \(now.revision): clients begin anew")
    }
}
