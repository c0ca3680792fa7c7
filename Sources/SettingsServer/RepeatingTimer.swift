internal import Dispatch

/// A timer that calls a closure periodically until it is stopped.
///
/// Thread-safe. Unchecked, because its only property is a constant dispatch source, which any thread may cancel.
final class RepeatingTimer: @unchecked Sendable {
    private let timer: any DispatchSourceTimer

    init(every milliseconds: Int, _ body: @escaping @Sendable () -> Void) {
        timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
        timer.schedule(
            deadline: .now() + .milliseconds(milliseconds), repeating: .milliseconds(milliseconds),
            leeway: .milliseconds(milliseconds / 4))
        timer.setEventHandler(handler: body)
        timer.activate()
    }

    func stop() { timer.cancel() }
}
