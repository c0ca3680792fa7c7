import Dispatch
import TestSupport

/// Waiting in tests that are tasks themselves: blocking would take a thread away from the tasks that are waited for.
extension EventLog {
    func waits(for event: String, times: Int = 1) async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "waiting for \(event)").async {
                continuation.resume(returning: self.wait(for: event, times: times))
            }
        }
    }
}
