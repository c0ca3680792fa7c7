import ClientCostKeys
import SettingsClient

/// How long a set takes beside a bare exchange of the same bytes, in alternating rounds on one thread.
///
/// The bytes are what the client itself sends, taken down on their way to the daemon. From request to request the value and
/// the name of the write differ; and bare ones go to a suite of their own, which has no observer, while what the
/// adapter sets goes to its own observer, which is a part of what it costs.
struct Writes {
    /// Microseconds, medians.
    let set: Double
    let exchange: Double

    private static let callsPerRound = 50
    /// Numbers of one length.
    private static let first = 1_000_001
    private static let suite = "client-cost"
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
                // The first round opens connections.
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
        let last = try Self.adapter(port, suite: Self.bareSuite).launchCount
        guard last == number else { throw CostFailure("\(number) was written last, and \(last) is there") }
        set = Self.median(times.set)
        exchange = Self.median(times.exchange)
    }

    private static func median(_ times: [Int]) -> Double {
        Double(times.sorted()[times.count / 2]) / 1000
    }

    static func adapter(_ port: UInt16, suite: String = Writes.suite) throws -> DefaultsAdapter<DefaultsKeys> {
        let server = try ServerAddress("http://127.0.0.1:\(port)")
        return DefaultsAdapter(
            suite: try SuiteName(suite), keyStore: DefaultsKeys(), server: server,
            log: DefaultsLog { _, message, _ in fatalError(message) })
    }

    private static func template(_ port: UInt16) throws -> RequestTemplate {
        let relay = try Relay(to: port)
        try adapter(relay.port).launchCount = first
        let request = try relay.request(with: "\(first)")
        return try RequestTemplate(
            request, value: "\(first)",
            replacing: [("127.0.0.1:\(relay.port)", "127.0.0.1:\(port)"), (suite, bareSuite)])
    }
}
