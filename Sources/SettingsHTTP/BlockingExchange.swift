internal import Glibc
package import HTTPWire
internal import SettingsModel

extension ConnectionPool {
    /// Sends a request and waits for the answer on the calling thread, which needs no other thread for that.
    ///
    /// A host whose name the resolver has to look up may take longer than until the deadline.
    package func exchange(
        _ request: Request, by deadline: ContinuousClock.Instant
    ) throws(SettingsError) -> Reply {
        let exchange = Exchange(request, self)
        let result = withUnsafeTemporaryAllocation(byteCount: WireBuffer.size, alignment: 16) { buffer in
            Self.drive(exchange, buffer, until: deadline)
        }
        return try result.get()
    }

    private static func drive(
        _ exchange: Exchange, _ buffer: UnsafeMutableRawBufferPointer, until deadline: ContinuousClock.Instant
    ) -> Result<Reply, SettingsError> {
        var isOver = false
        while true {
            switch exchange.advance(buffer) {
            case .finished(let result): return result
            case .lookingUp(let host):
                switch host.lookUp() {
                case .success(let addresses): exchange.found(addresses)
                case .failure(let failure): return .failure(.unreachable(failure.reason, outcome: exchange.outcome))
                }
                // The resolver knows of no deadline.
                guard ContinuousClock.now < deadline else { return .failure(.late(outcome: exchange.outcome)) }
            case .waiting(let what):
                // What is there at the deadline is still taken, once: a server that pours always has more.
                guard !isOver, wait(for: what, until: deadline) else {
                    return .failure(.late(outcome: exchange.outcome))
                }
                isOver = ContinuousClock.now >= deadline
            }
        }
    }

    /// False if the time was over before anything happened.
    private static func wait(for what: Exchange.Wait, until deadline: ContinuousClock.Instant) -> Bool {
        var wanted = pollfd(fd: what.descriptor, events: what.events, revents: 0)
        let limit = min(deadline, what.until ?? deadline)
        while true {
            let count = poll(&wanted, 1, WireBuffer.milliseconds(until: limit))
            if count > 0 { return true }
            // Nothing yet, or a signal.
            let now = ContinuousClock.now
            if now >= deadline { return false }
            if now >= limit { return true }
        }
    }
}
