internal import HTTPServer
internal import SettingsEngine
internal import SettingsStorage

/// Delivers results of writes, publications and results of work in the background to an event loop. Thread-safe.
///
/// Unchecked because `handler` is set once, before another thread knows the mailbox, and read on the loop only.
final class LoopMailbox: WriteReceiver, PublicationListener, @unchecked Sendable {
    private let loop: EventLoop
    weak var handler: APIHandler?

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    func deliver(_ results: [WriteResult]) {
        run { $0.finish(results) }
    }

    func published() {
        run { handler in
            handler.notifier.notifyWatchers()
            handler.serveRequestsWithPublishedRevision()
        }
    }

    /// Calls the body on the loop, with nil if that has stopped.
    func ask(_ body: @escaping @Sendable (APIHandler?) -> Void) {
        loop.run { body(self.handler) }
    }

    func run(_ work: @escaping @Sendable (APIHandler) -> Void) {
        loop.run { if let handler = self.handler { work(handler) } }
    }
}
