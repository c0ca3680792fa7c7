package import HTTPWire
internal import Platform
internal import SettingsModel

extension ConnectionPool {
    /// Sends a request and waits for the answer on the calling thread, which needs no other thread for that.
    ///
    /// A host whose name the resolver has to look up may take longer than until the deadline.
    package func exchange(_ request: Request, by deadline: ContinuousClock.Instant) throws(SettingsError) -> Reply {
        let exchange = Exchange(request, self)
        let result = withUnsafeTemporaryAllocation(byteCount: Exchange.bufferSize, alignment: 16) { buffer in
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
                case .failure(let failure):
                    return .failure(.unreachable(failure.description, outcome: exchange.outcome))
                }
                // The resolver knows of no deadline.
                guard ContinuousClock.now < deadline else { return .failure(.late(outcome: exchange.outcome)) }
            case .waiting(let wait):
                // Bytes that are there at the deadline are still read, once: a server may send without end.
                guard !isOver, Self.wait(wait, until: deadline) else {
                    return .failure(.late(outcome: exchange.outcome))
                }
                isOver = ContinuousClock.now >= deadline
            }
        }
    }

    /// Waits for what an exchange wants; false if the deadline came before.
    private static func wait(_ wait: Exchange.Wait, until deadline: ContinuousClock.Instant) -> Bool {
        let limit = min(deadline, wait.until ?? deadline)
        while true {
            if PollSet.wait(for: wait.events, on: wait.descriptor, until: limit) { return true }
            // Nothing yet, or a signal.
            let now = ContinuousClock.now
            if now >= deadline { return false }
            if now >= limit { return true }
        }
    }
}
