import ClientCostKeys
import SettingsClient

/// The time until the daemon acknowledges a value that the Swift client sets, compared with the time of an
/// equal exchange without the client. The two measurements alternate in rounds on one thread.
///
/// A `Relay` records the bytes that the client sends. Each request has another value and another `Idempotency-Key`. The
/// requests without the client are for a separate suite, which nobody observes. The adapter observes its own suite,
/// because this is a part of the cost of the client.
struct Writes {
    /// The median time to set a value, in microseconds.
    let set: Double
    /// The median time of an exchange without the client, in microseconds.
    let exchange: Double

    private static let callsPerRound = 50
    /// The first value. All values have the same number of digits.
    private static let first = 1_000_001
    private static let suite = "client-cost"
    /// The suite of the requests without the client.
    private static let bareSuite = "client-bare"

    init(port: UInt16, rounds: Int) throws {
        let template = try Self.template(port)
        let defaults = try Self.adapter(port)
        let raw = try RawExchange(port: port)
        var number = Self.first
        var times = (set: [Int](), exchange: [Int]())
        for round in 0...rounds {
            for _ in 0..<Self.callsPerRound {
                number += 1
                let start = monotonicNanoseconds()
                defaults.launchCount = number
                // The first round is not measured, because it opens the connections.
                if round > 0 { times.set.append(monotonicNanoseconds() - start) }
            }
            for _ in 0..<Self.callsPerRound {
                number += 1
                let request = try template.request(value: number)
                let start = monotonicNanoseconds()
                try raw.exchange(request)
                if round > 0 { times.exchange.append(monotonicNanoseconds() - start) }
            }
        }
        let storedValue = try Self.adapter(port, suite: Self.bareSuite).launchCount
        guard storedValue == number else {
            throw CostFailure("the last written value is \(number), but the daemon has \(storedValue)")
        }
        set = Self.median(times.set)
        exchange = Self.median(times.exchange)
    }

    /// Returns the median of the times in microseconds.
    private static func median(_ nanoseconds: [Int]) -> Double {
        Double(nanoseconds.sorted()[nanoseconds.count / 2]) / 1000
    }

    /// - Parameter writes: in the mode `confirmed`, a setter waits until the daemon has answered the write.
    static func adapter(
        _ port: UInt16, suite: String = Writes.suite, writes: WriteMode = .confirmed
    ) throws -> DefaultsAdapter<DefaultsKeys> {
        let server = try ServerAddress("http://127.0.0.1:\(port)")
        return DefaultsAdapter(
            suite: try SuiteName(suite), keyStore: DefaultsKeys(), server: server, writes: writes,
            // A write that fails would make the measurement invalid.
            log: DefaultsLog { _, message, _ in fatalError(message) })
    }

    /// Records a write of the client, and makes a template for the suite of the requests without the client.
    private static func template(_ port: UInt16) throws -> RequestTemplate {
        let relay = try Relay(to: port)
        try adapter(relay.port).launchCount = first
        let request = try relay.request(with: "\(first)")
        return try RequestTemplate(
            request, value: "\(first)",
            replacing: [("127.0.0.1:\(relay.port)", "127.0.0.1:\(port)"), (suite, bareSuite)])
    }
}
