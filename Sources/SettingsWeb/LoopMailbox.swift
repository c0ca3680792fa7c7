internal import HTTPServer
internal import SettingsEngine
internal import SettingsStorage

/// A mailbox that brings what happens on other queues to the loop: results of writes, publications, long work that is done.
///
/// The handler is set once, before anything is submitted, and read on its loop only. That is why the reference may be
/// passed to other queues.
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
            handler.watchers.published()
            handler.releaseReached()
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
