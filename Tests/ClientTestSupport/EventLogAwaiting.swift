internal import Dispatch
package import TestSupport

/// Waits for tests that run in a task. The wait blocks a thread of its own, because the events may come from other
/// tasks, which need the threads of Swift's pool.
extension EventLog {
    /// Returns true when the event was added this many times. Returns false after 60 waits of `Deadline.patience`
    /// seconds each. The limit is long because other tests may block the threads of Swift's pool until they end, and
    /// the task that adds the event starts after that.
    package func waits(for event: String, times: Int = 1) async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "waiting for \(event)").async {
                let isLogged = (0..<60).contains { _ in self.wait(for: event, times: times) }
                continuation.resume(returning: isLogged)
            }
        }
    }
}
