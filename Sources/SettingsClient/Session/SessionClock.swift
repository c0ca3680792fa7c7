/// The clock for the pauses of a session between attempts. A test can control the clock.
///
/// The timeouts of callers do not use this clock, but always count real time.
package protocol SessionClock: Sendable {
    var now: ContinuousClock.Instant { get }

    /// Waits until the promise is fulfilled or the clock has reached the moment.
    func wait(for promise: Promise<Void>, until moment: ContinuousClock.Instant) async
}

package struct RealSessionClock: SessionClock {
    package init() {}

    package var now: ContinuousClock.Instant { .now }

    package func wait(for promise: Promise<Void>, until moment: ContinuousClock.Instant) async {
        _ = await promise.value(until: moment)
    }
}
