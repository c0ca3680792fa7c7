package import HTTPWire

extension ConnectionPool {
    /// Sends a request and waits for the answer without blocking a thread. Throws `cancelled` if the task is cancelled.
    package func exchange(
        _ request: Request, by deadline: ContinuousClock.Instant
    ) async throws(SettingsError) -> Reply {
        // In spite of its name, a `LongPoll` can send any request.
        let pendingRequest = LongPoll(request, self, by: deadline)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                pendingRequest.start { continuation.resume(returning: $0) }
            }
        } onCancel: {
            pendingRequest.cancel()
        }
        return try result.get()
    }
}
