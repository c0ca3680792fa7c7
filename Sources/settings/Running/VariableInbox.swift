import Platform
import Synchronization

/// Passes variables and errors from the task that follows the daemon to the thread that runs the program. Thread-safe.
final class VariableInbox: Sendable {
    struct News {
        /// The variables of the newest state; nil if it has none, or if there is no newer state.
        var variables: ProgramVariables?
        /// The cause why the newest state has no variables, or why there is no newer state.
        var failure: ToolError?
        /// The latest failure to reach the daemon.
        var outage: ToolError?
    }

    private let news = Mutex(News())
    private let waker: Waker

    init() throws(SystemError) {
        waker = try Waker()
    }

    /// The descriptor that is readable if there are news. Owned by the inbox.
    var descriptor: Int32 { waker.descriptor }

    func post(_ change: (inout News) -> Void) {
        news.withLock { change(&$0) }
        waker.wake()
    }

    /// Removes and returns the news.
    func take() -> News {
        waker.reset()
        return news.withLock { news in
            defer { news = News() }
            return news
        }
    }
}
