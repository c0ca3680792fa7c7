internal import Dispatch
internal import Platform
internal import SettingsStorage
internal import Synchronization

/// Handles signals, from before the daemon starts until the process ends.
///
/// The first TERM or INT stops the daemon cleanly, and a second TERM or INT ends the process immediately. If the first
/// signal arrives while the daemon starts, the daemon stops when it has started. If this takes too long, the process
/// ends without a clean stop, which is safe because no write has been acknowledged. HUP reloads the configuration.
///
/// Thread-safe. Unchecked because of the property `sources`, which is set in the initializer and never read later.
final class Lifecycle: @unchecked Sendable {
    private enum Phase {
        /// If `mustReload` is true, HUP has arrived: the configuration may have changed since it was read.
        case starting(mustReload: Bool)
        case serving(Daemon)
        /// The daemon is nil if the signal arrived before the daemon had started.
        case stopping(Daemon?)
    }

    /// The time in seconds for the work after the connections have been closed: the last sync and the last snapshot.
    private static let shutdownSeconds = 15

    private let phase = Mutex(Phase.starting(mustReload: false))
    private let stopSeconds: Int
    private let log: Log
    private let queue = DispatchQueue(label: "settingsd.signals", qos: .userInitiated)
    private let sources: [any DispatchSourceSignal]

    /// Installs the signal handlers. They retain the object, so it exists until the process ends.
    ///
    /// - Parameter stopSeconds: the maximum seconds that a stop waits for the requests of open connections.
    init(stopSeconds: Int, log: Log) {
        self.stopSeconds = stopSeconds
        self.log = log
        let signals = [ProcessSignal.terminate, .interrupt, .hangUp]
        let queue = queue
        sources = signals.map { DispatchSource.makeSignalSource(signal: $0.number, queue: queue) }
        // Another thread registers the sources. Until then, a signal would end the process, or would be lost if the
        // process ignored it. Blocking the signals makes the kernel keep them pending.
        ProcessSignal.block(signals)
        let ready = DispatchSemaphore(value: 0)
        for (signal, source) in zip(signals, sources) {
            source.setEventHandler { self.receive(signal) }
            source.setRegistrationHandler { ready.signal() }
            source.activate()
        }
        for _ in sources { ready.wait() }
        ProcessSignal.unblock(signals)
    }

    /// Records that the daemon has started, and applies the signals that arrived during the start.
    func recordStart(of daemon: Daemon) {
        let previousPhase = phase.withLock { phase in
            let previousPhase = phase
            if case .starting = phase { phase = .serving(daemon) } else { phase = .stopping(daemon) }
            return previousPhase
        }
        switch previousPhase {
        case .starting(mustReload: false): break
        case .starting(mustReload: true): daemon.reload()
        case .serving, .stopping: stop(daemon)
        }
    }

    private func receive(_ signal: ProcessSignal) {
        dispatchPrecondition(condition: .onQueue(queue))
        guard signal != .hangUp else {
            let daemon = phase.withLock { phase in
                if case .starting = phase { phase = .starting(mustReload: true) }
                return if case .serving(let daemon) = phase { daemon } else { nil as Daemon? }
            }
            daemon?.reload()
            return
        }
        let name = signal == .terminate ? "SIGTERM" : "SIGINT"
        let previousPhase = phase.withLock { phase in
            let previousPhase = phase
            switch phase {
            case .starting: phase = .stopping(nil)
            case .serving(let daemon): phase = .stopping(daemon)
            case .stopping: break
            }
            return previousPhase
        }
        switch previousPhase {
        case .starting:
            log.info("received \(name): the daemon stops when it has started; a second signal stops it immediately")
            scheduleForcedExit()
        case .serving(let daemon):
            log.info("received \(name): the daemon stops; a second signal stops it immediately")
            scheduleForcedExit()
            stop(daemon)
        case .stopping:
            log.warning("received \(name) again: the daemon stops immediately")
            LineWriter.standardError.flush()
            CurrentProcess.exitWithoutHandlers(code: signal.exitCode)
        }
    }

    private func stop(_ daemon: Daemon) {
        daemon.stop { failure in
            guard let failure else {
                self.log.info("stopped")
                Program.exit(with: .success)
            }
            self.log.error("the daemon stopped, but could not write all data to disk: \(failure)")
            Program.exit(with: .cannotWrite)
        }
    }

    /// Ends the process if a clean stop takes too long.
    private func scheduleForcedExit() {
        queue.asyncAfter(deadline: .now() + .seconds(stopSeconds + Self.shutdownSeconds)) {
            let hasStarted = self.phase.withLock { phase in
                if case .stopping(nil) = phase { false } else { true }
            }
            guard hasStarted else {
                self.log.info("the process ends before the daemon has started")
                Program.exit(with: .success)
            }
            self.log.error(
                "cannot stop cleanly within \(self.stopSeconds + Self.shutdownSeconds) seconds: the process ends now")
            Program.exit(with: .internalFailure)
        }
    }
}
