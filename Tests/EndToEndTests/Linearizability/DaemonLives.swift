import Dispatch
import Synchronization

/// A daemon that is killed and started again on the same data, while clients use it.
final class DaemonLives: Sendable {
    private let data: ScratchDirectory
    private let current: Mutex<DaemonProcess>
    /// Entered while there is no daemon.
    private let revival = DispatchGroup()
    private let answers = Mutex(0)
    /// After how many answers it is killed.
    private let period: Int
    private let kills: Int

    /// - Parameters:
    ///   - kills: how often it is killed,
    ///   - period: after so many answers each time.
    init(kills: Int = 0, period: Int = .max) throws {
        data = try ScratchDirectory()
        current = Mutex(try DaemonProcess(data: data.path))
        self.kills = kills
        self.period = period
    }

    /// A connection to the daemon, once there is one.
    func connect() throws -> Peer {
        while true {
            guard revival.wait(timeout: .now() + .seconds(30)) == .success else {
                throw DaemonProcess.Failed(description: "no daemon was started again")
            }
            let daemon = current.withLock { $0 }
            do {
                return try Peer(port: daemon.port)
            } catch {
                // Killed in between, unless it is still the one.
                let isReplaced = revival.wait(timeout: .now()) == .timedOut || current.withLock { $0 !== daemon }
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
        try current.withLock { daemon in
            revival.enter()
            defer { revival.leave() }
            try daemon.killAtOnce()
            daemon = try DaemonProcess(data: data.path)
        }
    }

    /// How often it was killed by counting.
    var killCount: Int { answers.withLock { min(kills, $0 / period) } }
}
