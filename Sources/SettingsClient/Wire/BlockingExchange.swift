internal import Glibc
internal import SettingsModel

extension ConnectionPool {
    /// Sends a request and waits for the answer on the calling thread, which needs no other thread for that.
    ///
    /// A host whose name the resolver has to look up may take longer than until the deadline.
    func exchange(
        _ request: WireRequest, by deadline: ContinuousClock.Instant
    ) throws(SettingsError) -> WireReply {
        let exchange = Exchange(request, self)
        let result = withUnsafeTemporaryAllocation(byteCount: WireBuffer.size, alignment: 16) { buffer in
            var progress = exchange.advance(buffer)
            while true {
                switch progress {
                case .finished(let result): return result
                case .lookingUp(let host, let port):
                    do throws(SocketAddress.LookupFailure) {
                        progress = exchange.found(try SocketAddress.lookUp(host, port)) ?? exchange.advance(buffer)
                    } catch {
                        return .failure(.unreachable(error.reason, outcome: exchange.outcome))
                    }
                case .waiting(let descriptor, let events):
                    guard Self.wait(for: events, on: descriptor, until: deadline) else {
                        return .failure(.timedOut(outcome: exchange.outcome))
                    }
                    progress = exchange.advance(buffer)
                }
            }
        }
        return try result.get()
    }

    /// False if the time was over before anything happened.
    private static func wait(for events: Int16, on descriptor: Int32, until deadline: ContinuousClock.Instant) -> Bool {
        var wanted = pollfd(fd: descriptor, events: events, revents: 0)
        while true {
            let count = poll(&wanted, 1, WireBuffer.milliseconds(until: deadline))
            if count > 0 { return true }
            // Nothing yet, or a signal.
            if ContinuousClock.now >= deadline { return false }
        }
    }
}
