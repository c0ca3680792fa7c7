import Dispatch
import Foundation
import SettingsAPI
import Synchronization
import TestSupport

/// A daemon that is killed and started again on the same data, while clients use it; or three that share an etcd, and are
/// killed and started together.
final class DaemonLives: Sendable {
    private let data: TemporaryDirectory
    /// What the daemons share; nil if there is one alone.
    private let etcd: EtcdCluster?
    private let current: Mutex<Life>
    /// Entered while there is no daemon.
    private let revival = DispatchGroup()
    private let answers = Mutex(0)
    /// After how many answers it is killed.
    private let period: Int
    private let kills: Int
    private let options: [String]

    private struct Life {
        var daemons: [DaemonProcess]
        var number = 0
        /// The commits of the lives before.
        var commits: JournaledCommits?
    }

    /// - Parameters:
    ///   - kills: how often it is killed,
    ///   - period: after so many answers each time,
    ///   - options: of the daemon, beside its data,
    ///   - isShared: true for three members of etcd and three daemons.
    init(kills: Int = 0, period: Int = .max, options: [String] = [], isShared: Bool = false) throws {
        data = try TemporaryDirectory()
        etcd = isShared ? try EtcdCluster(members: 3) : nil
        self.options = options + (etcd?.endpoints ?? []).flatMap { ["--etcd.endpoints", $0] }
        current = Mutex(Life(daemons: try Self.daemons(isShared ? 3 : 1, in: data, self.options)))
        self.kills = kills
        self.period = period
    }

    private static func daemons(
        _ count: Int, in data: TemporaryDirectory, _ options: [String]
    ) throws -> [DaemonProcess] {
        guard count > 1 else { return [try DaemonProcess(data: data.path, options: options)] }
        return try (0..<count).map { try DaemonProcess(data: "\(data.path)/\($0)", options: options) }
    }

    /// The daemons of a life.
    var count: Int { etcd == nil ? 1 : 3 }

    /// A connection to one of the daemons, once there are some.
    func connect(for number: Int = 0) throws -> RawClient {
        try connectToLife(for: number).client
    }

    /// A connection to one of the daemons, once there are some, and how many lives there were before. It is the same daemon
    /// for the same number, and another one in the next life.
    func connectToLife(for place: Int = 0, receiveBuffer: Int32? = nil) throws -> (client: RawClient, life: Int) {
        while true {
            guard revival.wait(timeout: .now() + .seconds(Deadline.patience)) == .success else {
                throw ChildProcess.Failure(description: "no daemon was started again")
            }
            let (port, number) = current.withLock { life in
                (life.daemons[(place + life.number) % life.daemons.count].port, life.number)
            }
            do {
                return (try RawClient(port: port, receiveBuffer: receiveBuffer), number)
            } catch {
                // Killed in between, unless it is still the one.
                let isReplaced = revival.wait(timeout: .now()) == .timedOut || current.withLock { $0.number != number }
                guard isReplaced else { throw error }
            }
        }
    }

    /// Counts an answer; the one that fills the measure kills the daemon and starts another.
    func countAnswer() throws {
        let count = answers.withLock { answers in
            answers += 1
            return answers
        }
        if count % period == 0 && count / period <= kills { try killAndRestart() }
    }

    /// Kills the daemon in the midst of whatever it does, and starts another on its data.
    func killAndRestart() throws {
        try replace { try $0.killAtOnce() }
    }

    /// Ends each daemon in some way, checks and collects what it left, and starts another on that. Returns the last commit.
    @discardableResult
    func replace(ending: (DaemonProcess) throws -> Void) throws -> Revision {
        try current.withLock { life in
            revival.enter()
            defer { revival.leave() }
            for daemon in life.daemons { try ending(daemon) }
            let commits = try commits(after: life.commits)
            life = Life(
                daemons: try Self.daemons(life.daemons.count, in: data, options), number: life.number + 1,
                commits: commits)
            return commits.last
        }
    }

    /// Stops the daemons, for good, and returns all commits.
    func finish() throws -> JournaledCommits {
        try current.withLock { life in
            for daemon in life.daemons { try daemon.stop() }
            return try commits(after: life.commits)
        }
    }

    /// Checks what a daemon left, and adds its commits to those of the lives before.
    private func commits(after known: JournaledCommits?) throws -> JournaledCommits {
        if let etcd { return try JournaledCommits(log: etcd) }
        let check = try ChildProcess.run(["check", data.path])
        // A kill may tear the last line.
        guard check.code == 0 || check.code == 1 else {
            throw ChildProcess.Failure(description: "the data is damaged: \(check.output)\(check.errors)")
        }
        var commits = try known ?? JournaledCommits(directory: data.path)
        try commits.read(directory: data.path)
        return commits
    }

    /// How often it was killed by counting.
    var killCount: Int { answers.withLock { min(kills, $0 / period) } }
}

/// Runs clients at the same time, each on a thread of its own.
enum ConcurrentClients {
    /// What all of them did, client by client; the first error if one of them failed.
    static func run<Made: Sendable>(
        _ count: Int, _ body: @escaping @Sendable (Int) throws -> [Made]
    ) async throws -> [Made] {
        let ends = Ends<Made>()
        let running = DispatchGroup()
        for client in 0..<count {
            running.enter()
            Thread.detachNewThread {
                let end = Result { try body(client) }
                ends.all.withLock { $0[client] = end }
                running.leave()
            }
        }
        await withCheckedContinuation { continuation in
            running.notify(queue: .global()) { continuation.resume() }
        }
        return try ends.all.withLock { $0 }.sorted { $0.key < $1.key }.flatMap { try $0.value.get() }
    }

    private final class Ends<Made: Sendable>: Sendable {
        let all = Mutex<[Int: Result<[Made], any Error>]>([:])
    }
}
