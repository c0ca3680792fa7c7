internal import HTTPServer
internal import Platform
internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// The maximum rate at which one client (a caller, a Unix user or an address) may send requests.
package struct RequestRate: Equatable, Sendable {
    /// The requests per second. The configuration uses 0 for no limit, and the limiter is not used in that case.
    package var perSecond = 10_000
    /// The requests that a client may send at once after it has been idle.
    package var burst = 20_000

    package init() {}

    /// The nanoseconds between two requests at the rate.
    fileprivate var interval: UInt64 { 1_000_000_000 / UInt64(max(1, perSecond)) }
}

/// Limits the rate of requests of each client on all event loops, with a token bucket for each client: a caller, a Unix
/// user or an address (``ClientKey``). Thread-safe.
///
/// Each request consumes a token, and the bucket refills at the rate. The limiter stores only the time at which a
/// bucket will be full. Each request moves this time later by the refill time of a token. A client without a
/// stored time has a full bucket. `evict` removes the times of full buckets when too many times are stored.
final class RequestRateLimiter: Sendable {
    /// The time at which the bucket of each client will be full, in nanoseconds.
    private let fullTimes = Mutex<[ClientKey: UInt64]>([:])
    private static let maximumBuckets = 16_384

    /// Consumes a token of a client. Returns nil on success; otherwise the nanoseconds until the bucket has a token.
    func countRequest(of key: ClientKey, at now: UInt64, _ rate: RequestRate) -> UInt64? {
        let timeToFill = rate.interval * UInt64(max(1, rate.burst))
        return fullTimes.withLock { fullTimes in
            let newFullTime = max(fullTimes[key] ?? 0, now) + rate.interval
            guard newFullTime - now <= timeToFill else { return newFullTime - now - timeToFill }
            if fullTimes.count >= Self.maximumBuckets, fullTimes[key] == nil { Self.evict(from: &fullTimes, at: now) }
            fullTimes[key] = newFullTime
            return nil
        }
    }

    /// Puts back the token of a request that is postponed and will consume another token when it is served.
    func uncountRequest(of key: ClientKey, _ rate: RequestRate) {
        fullTimes.withLock { fullTimes in
            if let time = fullTimes[key] { fullTimes[key] = time - min(time, rate.interval) }
        }
    }

    /// Removes the full buckets. If more than half of the maximum remain, also removes the half of the remaining
    /// buckets that will be full first, because these buckets limit their clients least.
    private static func evict(from fullTimes: inout [ClientKey: UInt64], at now: UInt64) {
        fullTimes = fullTimes.filter { $0.value > now }
        guard fullTimes.count > maximumBuckets / 2 else { return }
        let median = fullTimes.values.sorted()[fullTimes.count / 2]
        fullTimes = fullTimes.filter { $0.value > median }
    }
}

extension Problem {
    /// The error for a request that exceeds the rate.
    ///
    /// - Parameter wait: the nanoseconds until the next request is accepted.
    init(tooManyRequests rate: RequestRate, wait: UInt64) {
        self.init(
            .tooManyRequests, retryAfterMs: Int64(wait / 1_000_000 + 1),
            "this caller has exceeded the limit of \(rate.perSecond) requests a second and \(rate.burst) requests at "
                + "once; send fewer requests, or raise limits.requestsPerSecond")
    }
}

extension ClientKey {
    /// The key for limits per client: the name of a caller for which grants (rights on suites) are configured. A caller
    /// with only the grants of anonymous callers shares the limit of its Unix user or, without one, of its address.
    init(of caller: Caller?, _ exchange: Exchange) {
        if let caller, caller.hasOwnGrants {
            self = .caller(caller.name)
        } else {
            self.init(exchange.peer, exchange.user?.id)
        }
    }
}
