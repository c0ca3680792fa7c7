internal import Dispatch
internal import Platform
internal import SettingsStorage
internal import Synchronization

/// What signals do to the daemon, from before it starts to its end.
///
/// The first TERM or INT stops it cleanly; a second one ends the process at once. One that comes while it still starts is
/// heeded once it has started: until then no caller was promised anything, so no stop takes longer than the bound.
///
/// Unchecked because of the sources, which are set once, before another thread knows of the object, and only held.
final class Lifecycle: @unchecked Sendable {
    private enum Phase {
        /// What it starts with may have changed since it was read.
        case starting(mustReload: Bool)
        case serving(Daemon)
        /// Without a daemon, it was asked to stop before it had started.
        case stopping(Daemon?)
    }

    /// Seconds for what is done after the connections have ended: the last sync, the last snapshot.
    private static let grace = 15

    private let phase = Mutex(Phase.starting(mustReload: false))
    private let stopBound: Int
    private let log: Log
    private let queue = DispatchQueue(label: "settingsd.signals", qos: .userInitiated)
    private let sources: [any DispatchSourceSignal]

    /// From here on signals come here, and the object stays for as long as the process does.
    init(stopBound: Int, log: Log) {
        self.stopBound = stopBound
        self.log = log
        let signals = [ProcessSignal.terminate, .interrupt, .hangUp]
        let queue = queue
        sources = signals.map { DispatchSource.makeSignalSource(signal: $0.number, queue: queue) }
        // Sources are set up by another thread. A signal that comes before would end the process, or be lost if it were
        // ignored: so it is held back until then.
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

    /// The daemon serves.
    func serve(_ daemon: Daemon) {
        let before = phase.withLock { phase in
            let before = phase
            if case .starting = phase { phase = .serving(daemon) } else { phase = .stopping(daemon) }
            return before
        }
        switch before {
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
        let before = phase.withLock { phase in
            let before = phase
            switch phase {
            case .starting: phase = .stopping(nil)
            case .serving(let daemon): phase = .stopping(daemon)
            case .stopping: break
            }
            return before
        }
        switch before {
        case .starting:
            log.info("\(name): stopping once it has started; a second one stops at once")
            limit()
        case .serving(let daemon):
            log.info("\(name): a second one stops at once")
            limit()
            stop(daemon)
        case .stopping:
            log.warning("\(name) again: stopped at once")
            LineWriter.standardError.flush()
            CurrentProcess.exitWithoutHandlers(code: signal.exitCode)
        }
    }

    private func stop(_ daemon: Daemon) {
        daemon.stop { failure in
            guard let failure else {
                self.log.info("stopped")
                Program.leave(.success)
            }
            self.log.error("stopped, but not all is on disk: \(failure)")
            Program.leave(.cannotWrite)
        }
    }

    /// Ends the process when a clean stop takes longer than it may.
    private func limit() {
        queue.asyncAfter(deadline: .now() + .seconds(stopBound + Self.grace)) {
            let hasServed = self.phase.withLock { phase in
                if case .stopping(nil) = phase { false } else { true }
            }
            guard hasServed else {
                self.log.info("stopped before it had started")
                Program.leave(.success)
            }
            self.log.error("stopping took longer than \(self.stopBound + Self.grace) seconds: left as it is")
            Program.leave(.internalFailure)
        }
    }
}
