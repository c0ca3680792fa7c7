import Dispatch
import Foundation
import SettingsAPI
import Synchronization
import TestSupport

/// A daemon that is killed and restarted with the same data while clients use it; or three daemons that share an etcd
/// and are killed and restarted together. A life is the time from a start to the next kill or stop.
final class DaemonLives: Sendable {
    private let data: TemporaryDirectory
    /// The shared etcd; nil for a single daemon.
    private let etcd: EtcdCluster?
    private let current: Mutex<Life>
    /// Entered while the daemon is being restarted.
    private let restart = DispatchGroup()
    private let answers = Mutex(0)
    /// The number of answers between two kills.
    private let answersBetweenKills: Int
    private let kills: Int
    private let options: [String]

    private struct Life {
        var daemons: [DaemonProcess]
        /// The number of earlier lives.
        var number = 0
        /// The commits of earlier lives.
        var commits: JournaledCommits?
    }

    /// - Parameters:
    ///   - kills: The number of kills.
    ///   - answersBetweenKills: The number of answers between two kills.
    ///   - options: The options of the daemon, in addition to its data directory.
    ///   - isShared: Whether three daemons share an etcd of three members.
    init(kills: Int = 0, answersBetweenKills: Int = .max, options: [String] = [], isShared: Bool = false) throws {
        data = try TemporaryDirectory()
        etcd = isShared ? try EtcdCluster(members: 3) : nil
        self.options = options + (etcd?.endpoints ?? []).flatMap { ["--etcd.endpoints", $0] }
        current = Mutex(Life(daemons: try Self.startDaemons(isShared ? 3 : 1, in: data, self.options)))
        self.kills = kills
        self.answersBetweenKills = answersBetweenKills
    }

    private static func startDaemons(
        _ count: Int, in data: TemporaryDirectory, _ options: [String]
    ) throws -> [DaemonProcess] {
        guard count > 1 else { return [try DaemonProcess(data: data.path, options: options)] }
        return try (0..<count).map { try DaemonProcess(data: "\(data.path)/\($0)", options: options) }
    }

    var daemonCount: Int { etcd == nil ? 1 : 3 }

    /// Connects to one of the daemons. Waits for the end of a restart.
    func connect(for index: Int = 0) throws -> RawClient {
        try connectToLife(for: index).client
    }

    /// Connects to one of the daemons. Waits for the end of a restart. Also returns the number of earlier lives. The
    /// same index selects the same daemon within a life, and another daemon in the next life.
    func connectToLife(for index: Int = 0, receiveBuffer: Int32? = nil) throws -> (client: RawClient, life: Int) {
        while true {
            guard restart.wait(timeout: .now() + .seconds(Deadline.patience)) == .success else {
                throw ChildProcess.Failure(description: "the daemon was not restarted in time")
            }
            let (port, number) = current.withLock { life in
                (life.daemons[(index + life.number) % life.daemons.count].port, life.number)
            }
            do {
                return (try RawClient(port: port, receiveBuffer: receiveBuffer), number)
            } catch {
                // A failed connection is expected if the daemon was killed in the meantime.
                let isReplaced = restart.wait(timeout: .now()) == .timedOut || current.withLock { $0.number != number }
                guard isReplaced else { throw error }
            }
        }
    }

    /// Counts an answer. Kills and restarts the daemon after each `answersBetweenKills` answers, at most `kills` times.
    func countAnswer() throws {
        let count = answers.withLock { answers in
            answers += 1
            return answers
        }
        if count % answersBetweenKills == 0 && count / answersBetweenKills <= kills { try killAndRestart() }
    }

    /// Kills the daemon and restarts it with the same data.
    func killAndRestart() throws {
        try replaceDaemons { try $0.killAtOnce() }
    }

    /// Ends each daemon with the closure, checks and collects the data, and starts new daemons. Returns the revision of
    /// the last commit.
    @discardableResult
    func replaceDaemons(ending: (DaemonProcess) throws -> Void) throws -> Revision {
        try current.withLock { life in
            restart.enter()
            defer { restart.leave() }
            for daemon in life.daemons { try ending(daemon) }
            let commits = try collectCommits(after: life.commits)
            life = Life(
                daemons: try Self.startDaemons(life.daemons.count, in: data, options), number: life.number + 1,
                commits: commits)
            return commits.lastRevision
        }
    }

    /// Stops the daemons and returns all commits.
    func stop() throws -> JournaledCommits {
        try current.withLock { life in
            for daemon in life.daemons { try daemon.stop() }
            return try collectCommits(after: life.commits)
        }
    }

    /// Checks the data of an ended daemon, and adds its commits to the commits of earlier lives. With etcd, only reads
    /// the commits of all lives from the log in etcd.
    private func collectCommits(after known: JournaledCommits?) throws -> JournaledCommits {
        if let etcd { return try JournaledCommits(log: etcd) }
        let check = try ChildProcess.run(["check", data.path])
        // Code 1 reports a torn last line, which a kill can leave.
        guard check.code == 0 || check.code == 1 else {
            throw ChildProcess.Failure(description: "the data is damaged: \(check.output)\(check.errors)")
        }
        var commits = try known ?? JournaledCommits(directory: data.path)
        try commits.read(directory: data.path)
        return commits
    }

    /// The number of kills by `countAnswer()`.
    var killCount: Int { answers.withLock { min(kills, $0 / answersBetweenKills) } }
}

/// Runs clients concurrently, each on its own thread.
enum ConcurrentClients {
    /// Returns the results of all clients, client by client; throws the first error of a client.
    static func run<Element: Sendable>(
        _ count: Int, _ body: @escaping @Sendable (Int) throws -> [Element]
    ) async throws -> [Element] {
        let results = ClientResults<Element>()
        let running = DispatchGroup()
        for client in 0..<count {
            running.enter()
            Thread.detachNewThread {
                let result = Result { try body(client) }
                results.all.withLock { $0[client] = result }
                running.leave()
            }
        }
        await withCheckedContinuation { continuation in
            running.notify(queue: .global()) { continuation.resume() }
        }
        return try results.all.withLock { $0 }.sorted { $0.key < $1.key }.flatMap { try $0.value.get() }
    }

    private final class ClientResults<Element: Sendable>: Sendable {
        let all = Mutex<[Int: Result<[Element], any Error>]>([:])
    }
}
