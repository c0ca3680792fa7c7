/// The clock for the pauses of a session between attempts, and for the durations of outages. A test can control the
/// clock.
///
/// The timeout of a call that waits for the daemon does not use this clock, but always counts real time.
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
