package import HTTPWire

extension ConnectionPool {
    /// Sends a request and waits for the answer without blocking a thread. Throws `cancelled` if the task is cancelled.
    package func exchange(
        _ request: Request, by deadline: ContinuousClock.Instant
    ) async throws(SettingsError) -> Reply {
        let asyncRequest = AsyncRequest(request, self, by: deadline)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                asyncRequest.start { continuation.resume(returning: $0) }
            }
        } onCancel: {
            asyncRequest.cancel()
        }
        return try result.get()
    }
}
