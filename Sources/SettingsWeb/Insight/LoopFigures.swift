internal import HTTPWire
internal import SettingsModel
internal import SettingsStorage
internal import Synchronization

/// The method and the resource of a request.
struct RouteName: Equatable, BitwiseCopyable {
    let method: Method
    let resource: Resource
}

/// The figures of one loop. It counts without locks, and they are summed when they are asked for.
struct LoopFigures: Sendable {
    /// Answers by the class of their status.
    private(set) var statuses = [0, 0, 0, 0, 0]
    /// The routes in the order in which they first came: few, and apart from their times, so that a search is quick.
    private var routes: [RouteName] = []
    /// The times of `routes`, by position.
    private var times: [Histogram] = []
    private(set) var refusals: [UInt8: Int] = [:]
    /// Watchers that commits have woken.
    var wakeUps = 0
    /// Streams of events, as of now.
    var streams = 0
    var slowRequests = 0
    var slowBatches = 0

    /// Counts an answer.
    mutating func count(_ status: Int, _ refusal: UInt8) {
        statuses[min(max(status / 100, 1), 5) - 1] += 1
        if refusal != 0 { refusals[refusal, default: 0] += 1 }
    }

    /// Counts the time of a request.
    mutating func count(_ route: RouteName, _ nanoseconds: UInt64) {
        times[position(of: route)].add(nanoseconds)
    }

    private mutating func position(of route: RouteName) -> Int {
        if let position = routes.firstIndex(of: route) { return position }
        routes.append(route)
        times.append(.times)
        return routes.count - 1
    }

    /// The times by route.
    var timesByRoute: [(route: RouteName, times: Histogram)] { Array(zip(routes, times)) }

    mutating func add(_ other: LoopFigures) {
        for index in statuses.indices { statuses[index] += other.statuses[index] }
        for (route, added) in other.timesByRoute { times[position(of: route)].add(added) }
        refusals.merge(other.refusals, uniquingKeysWith: +)
        wakeUps += other.wakeUps
        streams += other.streams
        slowRequests += other.slowRequests
        slowBatches += other.slowBatches
    }
}

/// A sum of the figures of all loops, which come one after the other.
final class FigureSum: Sendable {
    private let state: Mutex<(sum: LoopFigures, missing: Int)>

    init(of loops: Int) {
        state = Mutex((LoopFigures(), loops))
    }

    /// Adds those of a loop, none if it has stopped. Returns the sum if they were the last.
    func add(_ figures: LoopFigures?) -> LoopFigures? {
        state.withLock { state in
            if let figures { state.sum.add(figures) }
            state.missing -= 1
            return state.missing == 0 ? state.sum : nil
        }
    }
}
