public import Foundation
internal import SettingsAPI
package import SettingsClient
internal import Synchronization

/// A clock that a test controls. Its time changes only when the test advances it.
///
/// The clock determines the pauses of the client between attempts, the delays of a test daemon in the condition
/// ``TestDaemon/Condition/slow(_:)``, the timestamps of commits, and the time at which the daemon reverts a change or
/// makes a scheduled change. The timeout of an adapter always counts real time.
public final class TestClock: Sendable {
    private struct State {
        var elapsed = Duration.zero
        var pauses: [(end: ContinuousClock.Instant, promise: Promise<Void>)] = []
        /// The promises of the callers of `waitForPause`.
        var pauseWaiters: [Promise<Void>] = []
        var advanceActions: [@Sendable () -> Void] = []
    }

    private let start = ContinuousClock.now
    private let startDate: Date
    private let state = Mutex(State())

    /// Creates a clock.
    ///
    /// - Parameter date: the date that the clock shows at first.
    public init(date: Date = Date()) {
        startDate = date
    }

    /// The date that the clock shows.
    public var date: Date {
        startDate.addingTimeInterval(state.withLock { $0.elapsed } / .seconds(1))
    }

    /// Advances the clock. The test daemons with this clock then carry out the reverts and the scheduled changes that
    /// are due. Then the method ends the pauses of clients whose time has passed.
    public func advance(by duration: Duration) {
        let actions = state.withLock { state in
            state.elapsed += duration
            return state.advanceActions
        }
        for action in actions { action() }
        let ended = state.withLock { state in
            let now = start + state.elapsed
            defer { state.pauses.removeAll { $0.end <= now } }
            return state.pauses.filter { $0.end <= now }
        }
        for pause in ended.sorted(by: { $0.end < $1.end }) { pause.promise.fulfill(()) }
    }

    /// Calls a function each time the test has advanced the clock.
    func onAdvance(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.advanceActions.append(action) }
    }

    /// Waits until the client pauses, so that ``advance(by:)`` can end the pause. Returns false if the client does not
    /// pause within five seconds of real time.
    public func waitForPause() async -> Bool {
        let promise = Promise<Void>()
        let isPausing = state.withLock { state in
            if state.pauses.isEmpty { state.pauseWaiters.append(promise) }
            return !state.pauses.isEmpty
        }
        return if isPausing { true } else { await promise.value(until: .now + .seconds(5)) != nil }
    }
}

extension TestClock: SessionClock {
    package var now: ContinuousClock.Instant { start + state.withLock { $0.elapsed } }

    package func wait(for promise: Promise<Void>, until moment: ContinuousClock.Instant) async {
        let waiters = state.withLock { state -> [Promise<Void>]? in
            guard start + state.elapsed < moment else { return nil }
            state.pauses.append((moment, promise))
            defer { state.pauseWaiters = [] }
            return state.pauseWaiters
        }
        guard let waiters else { return }
        for waiter in waiters { waiter.fulfill(()) }
        _ = await promise.value()
        // If an event other than an advance of the clock has ended the pause, the list still contains the pause.
        state.withLock { $0.pauses.removeAll { $0.promise === promise } }
    }
}
