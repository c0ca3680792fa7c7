internal import Dispatch

/// Calls a closure at intervals until it is stopped.
///
/// Unchecked because its one member is a dispatch source that never changes, and those may be cancelled from any thread.
final class Ticker: @unchecked Sendable {
    private let timer: any DispatchSourceTimer

    init(every milliseconds: Int, _ body: @escaping @Sendable () -> Void) {
        timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
        timer.schedule(
            deadline: .now() + .milliseconds(milliseconds), repeating: .milliseconds(milliseconds),
            leeway: .milliseconds(milliseconds / 4))
        timer.setEventHandler(handler: body)
        timer.activate()
    }

    func stop() {
        timer.cancel()
    }
}
