internal import HTTPServer
internal import Platform
internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// The rate of requests that one caller may have.
package struct RequestRate: Equatable, Sendable {
    /// Requests a second; 0 for any number.
    package var perSecond = 10_000
    /// How many may come at once, after a rest.
    package var burst = 20_000

    package init() {}

    /// The nanoseconds between two requests at the rate.
    fileprivate var interval: UInt64 { 1_000_000_000 / UInt64(max(1, perSecond)) }
}

/// A meter of requests that finds the callers who send more than a rate allows. All loops share it.
///
/// A caller has a bucket of tokens that fills with the rate. All that is kept of it is the time when it is full again: with
/// each request that moves on by the time that one token takes. A bucket that is full is the same as none.
final class RequestMeter: Sendable {
    private let full = Mutex<[ClientKey: UInt64]>([:])
    private static let mostBuckets = 16_384

    /// Takes a token. Returns nil, or the nanoseconds until there is one.
    func take(_ key: ClientKey, at now: UInt64, _ rate: RequestRate) -> UInt64? {
        let room = rate.interval * UInt64(max(1, rate.burst))
        return full.withLock { full in
            let next = max(full[key] ?? 0, now) + rate.interval
            guard next - now <= room else { return next - now - room }
            if full.count >= Self.mostBuckets, full[key] == nil { Self.shrink(&full, at: now) }
            full[key] = next
            return nil
        }
    }

    /// Gives a token back: the request is to be offered again.
    func giveBack(_ key: ClientKey, _ rate: RequestRate) {
        full.withLock { full in
            if let time = full[key] { full[key] = time - min(time, rate.interval) }
        }
    }

    /// Drops the buckets that are full, and if they are few, half of the others: those that are full soonest.
    private static func shrink(_ full: inout [ClientKey: UInt64], at now: UInt64) {
        full = full.filter { $0.value > now }
        guard full.count > mostBuckets / 2 else { return }
        let middle = full.values.sorted()[full.count / 2]
        full = full.filter { $0.value > middle }
    }
}

extension Problem {
    /// The refusal of a request too many.
    ///
    /// - Parameter wait: the nanoseconds until the next one is taken.
    init(tooManyRequests rate: RequestRate, wait: UInt64) {
        self.init(
            .tooManyRequests, retryAfterMs: Int64(wait / 1_000_000 + 1),
            "this caller sends more than \(rate.perSecond) requests a second, with \(rate.burst) at once; send fewer, "
                + "or raise limits.requestsPerSecond")
    }
}

extension ClientKey {
    /// The key of the caller of a request: its credential, else where it comes from.
    init(of caller: Caller?, _ exchange: Exchange) {
        if let caller, caller.hasOwnGrants {
            self = .caller(caller.name)
        } else {
            self.init(exchange.peer, exchange.user?.id)
        }
    }
}
