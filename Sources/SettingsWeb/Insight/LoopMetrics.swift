internal import HTTPWire
internal import SettingsModel
internal import SettingsStorage
internal import Synchronization

/// The method and the resource of a request, which are the labels of its duration in the metrics.
struct RouteName: Equatable, BitwiseCopyable {
    let method: Method
    let resource: Resource
}

/// The counters and histograms of one event loop for `/metrics`. Owned by the event loop, so counting needs no lock.
/// When a client requests `/metrics`, a ``MetricsCollector`` adds the metrics of all loops.
struct LoopMetrics: Sendable {
    /// The number of answers by status class, from 1xx to 5xx.
    private(set) var statuses = [0, 0, 0, 0, 0]
    /// The routes in the order of their first requests. A linear search is fast, because there are few routes.
    private var routes: [RouteName] = []
    /// The durations of the requests of each route, at the position of the route in `routes`.
    private var durations: [Histogram] = []
    /// The number of error answers by the number of their error code, ``ErrorCode/number``.
    private(set) var errorAnswers: [UInt8: Int] = [:]
    /// How often a commit has woken a watcher, which is a request that waits for changes.
    var wakeUps = 0
    /// The number of open event streams. The event loop counts the streams only when a client requests `/metrics`.
    var streams = 0
    /// The number of requests that took at least the configured `slowRequestMs`.
    var slowRequests = 0
    /// The number of iterations of the loop that took longer than 20 ms.
    var slowIterations = 0

    /// Counts an answer. `errorCodeNumber` is the number of its error code; 0 if the answer has no error code.
    mutating func countAnswer(status: Int, errorCodeNumber: UInt8) {
        statuses[min(max(status / 100, 1), 5) - 1] += 1
        if errorCodeNumber != 0 { errorAnswers[errorCodeNumber, default: 0] += 1 }
    }

    mutating func addDuration(_ nanoseconds: UInt64, of route: RouteName) {
        durations[position(of: route)].add(nanoseconds)
    }

    /// Returns the position of a route. Adds the route if it is new.
    private mutating func position(of route: RouteName) -> Int {
        if let position = routes.firstIndex(of: route) { return position }
        routes.append(route)
        durations.append(.times)
        return routes.count - 1
    }

    var durationsByRoute: [(route: RouteName, durations: Histogram)] { Array(zip(routes, durations)) }

    mutating func add(_ other: LoopMetrics) {
        for index in statuses.indices { statuses[index] += other.statuses[index] }
        for (route, added) in other.durationsByRoute { durations[position(of: route)].add(added) }
        errorAnswers.merge(other.errorAnswers, uniquingKeysWith: +)
        wakeUps += other.wakeUps
        streams += other.streams
        slowRequests += other.slowRequests
        slowIterations += other.slowIterations
    }
}

/// Adds the metrics of all event loops, which report their metrics one after the other. Thread-safe.
final class MetricsCollector: Sendable {
    private let state: Mutex<(sum: LoopMetrics, remainingLoops: Int)>

    init(loopCount: Int) {
        state = Mutex((LoopMetrics(), loopCount))
    }

    /// Adds the metrics of a loop; nil if the loop has stopped. Returns the sum after the last loop, otherwise nil.
    func add(_ metrics: LoopMetrics?) -> LoopMetrics? {
        state.withLock { state in
            if let metrics { state.sum.add(metrics) }
            state.remainingLoops -= 1
            return state.remainingLoops == 0 ? state.sum : nil
        }
    }
}
