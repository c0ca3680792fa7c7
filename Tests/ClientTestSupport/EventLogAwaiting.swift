internal import Dispatch
package import TestSupport

/// A wait for an event, for tests that run in a task. The wait blocks its own thread, because the event may come from
/// another task, which needs a thread of Swift's pool.
extension EventLog {
    /// Returns true when the event has been added this many times. Returns false after 60 waits of `Deadline.patience`
    /// seconds each. The limit is long because other tests may block all threads of Swift's pool, and the task that
    /// adds the event starts only after these tests have ended.
    package func waits(for event: String, times: Int = 1) async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "waiting for \(event)").async {
                let isLogged = (0..<60).contains { _ in self.wait(for: event, times: times) }
                continuation.resume(returning: isLogged)
            }
        }
    }
}
