internal import Dispatch
internal import Glibc
package import SettingsModel

/// The daemon: the only place that constructs the parts and wires them.
package final class Daemon: Sendable {
    /// Where it listens, with the ports that were chosen.
    package let addresses: [ListenAddress]
    private let server: HTTPServer
    private let store: Store
    private let stopBound: UInt64

    package init(_ configuration: Configuration, log: Log) throws {
        let clock: @Sendable () -> Timestamp = Self.now
        let state = State(epoch: Epoch("test0000")!, limits: configuration.history)
        store = Store(state, log: VolatileLog(), limits: configuration.writes, clock: clock)
        let service = Service(
            store: store, hosts: HostPolicy(hosts: configuration.hosts, origins: configuration.origins),
            metrics: ServiceMetrics(started: clock()), obstacle: { nil })
        stopBound = UInt64(max(0, configuration.stopBound)) * TransportLimits.second
        let listeners = try configuration.listen.map { try Listener($0) }
        addresses = listeners.map(\.address)
        server = try HTTPServer(
            listeners: listeners, loopCount: configuration.loops, limits: configuration.transport,
            log: { event in log.add(event) }
        ) { loop in
            APIHandler(service, on: loop)
        }
        for address in addresses { log.info("listening on http://\(address)") }
    }

    /// Refuses new connections at once and finishes what was asked for, within the bound that was configured. Then calls
    /// `completion`, on some queue. To be called once.
    package func stop(completion: @escaping @Sendable () -> Void) {
        server.stop(within: stopBound) {
            self.store.whenIdle { _ in completion() }
        }
    }

    /// The time of day.
    package static let now: @Sendable () -> Timestamp = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

extension Log {
    /// Tells of what the transport met with.
    fileprivate func add(_ event: TransportEvent) {
        switch event {
        case .acceptPaused(let error): warning("new connections have to wait: \(error)")
        case .acceptResumed: info("new connections are taken again")
        }
    }
}
