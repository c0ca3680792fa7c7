internal import HTTPServer
internal import SettingsEngine
internal import SettingsStorage

/// Runs functions on an event loop: other threads use the mailbox to deliver the results of writes and of background
/// work, and to report that a new state is published. Thread-safe.
///
/// `@unchecked`: `handler` is set and read only on the dispatch queue of the event loop. The loop occupies this queue
/// until it stops; later work then runs on the queue one after the other.
final class LoopMailbox: WriteReceiver, PublicationListener, @unchecked Sendable {
    private let loop: EventLoop
    /// The handler of the loop; nil if the loop has stopped.
    weak var handler: APIHandler?

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    func deliver(_ results: [WriteResult]) {
        run { $0.handleResults(results) }
    }

    func published() {
        run { handler in
            handler.notifier.notifyWatchers()
            handler.serveRequestsWhoseRevisionIsPublished()
        }
    }

    /// Calls the body with the handler, on the event loop. If the loop has stopped, calls the body with nil.
    func runEvenIfStopped(_ body: @escaping @Sendable (APIHandler?) -> Void) {
        loop.run { body(self.handler) }
    }

    /// Runs work on the event loop. Drops the work if the loop has stopped.
    func run(_ work: @escaping @Sendable (APIHandler) -> Void) {
        loop.run { if let handler = self.handler { work(handler) } }
    }
}
