internal import Dispatch
package import TestSupport

/// Waiting in tests that are tasks themselves: blocking would take a thread away from the tasks that are waited for.
extension EventLog {
    /// False if it has not come to that within ten minutes. Tests that block hold the few threads of tasks, so what a task
    /// of this test does may begin when all other tests are done.
    package func waits(for event: String, times: Int = 1) async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "waiting for \(event)").async {
                let isThere = (0..<60).contains { _ in self.wait(for: event, times: times) }
                continuation.resume(returning: isThere)
            }
        }
    }
}
