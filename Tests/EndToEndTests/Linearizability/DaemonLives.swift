import Dispatch
import Synchronization
import TestSupport

/// A daemon that is killed and started again on the same data, while clients use it.
final class DaemonLives: Sendable {
    private let data: TemporaryDirectory
    private let current: Mutex<Life>
    /// Entered while there is no daemon.
    private let revival = DispatchGroup()
    private let answers = Mutex(0)
    /// After how many answers it is killed.
    private let period: Int
    private let kills: Int

    private struct Life {
        var daemon: DaemonProcess
        var number = 0
    }

    /// - Parameters:
    ///   - kills: how often it is killed,
    ///   - period: after so many answers each time.
    init(kills: Int = 0, period: Int = .max) throws {
        data = try TemporaryDirectory()
        current = Mutex(Life(daemon: try DaemonProcess(data: data.path)))
        self.kills = kills
        self.period = period
    }

    /// A connection to the daemon, once there is one.
    func connect() throws -> RawClient {
        while true {
            guard revival.wait(timeout: .now() + .seconds(30)) == .success else {
                throw ChildProcess.Failure(description: "no daemon was started again")
            }
            let (port, number) = current.withLock { ($0.daemon.port, $0.number) }
            do {
                return try RawClient(port: port)
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
        try current.withLock { life in
            revival.enter()
            defer { revival.leave() }
            try life.daemon.killAtOnce()
            life = Life(daemon: try DaemonProcess(data: data.path), number: life.number + 1)
        }
    }

    /// How often it was killed by counting.
    var killCount: Int { answers.withLock { min(kills, $0 / period) } }
}
