/// Brings what happens on other queues to the loop that it concerns: the ends of writes, publications, long work done.
///
/// The handler is set once, before anything is submitted, and read on its loop only: that is why the reference may go
/// along to other queues.
final class LoopReplies: WriteReplies, PublicationListener, @unchecked Sendable {
    private let loop: EventLoop
    weak var handler: APIHandler?

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    func deliver(_ outcomes: [WriteOutcome]) {
        run { $0.finish(outcomes) }
    }

    func published() {
        run { $0.watchers.published() }
    }

    func run(_ work: @escaping @Sendable (APIHandler) -> Void) {
        loop.run { if let handler = self.handler { work(handler) } }
    }
}
