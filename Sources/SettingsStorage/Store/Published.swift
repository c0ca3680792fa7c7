internal import SettingsEngine
internal import Synchronization

/// The published state behind its lock, with the listeners that wait for the next one.
///
/// The lock is held to copy references, to look something up, or to swap two states, and never across a callback.
final class Published: Sendable {
    private struct Contents {
        var state: State
        var listeners: [Listener] = []
        var lastID = 0
    }

    private struct Listener {
        let id: ListenerID
        let listener: any PublicationListener
        /// True if the next publication is to be reported to it.
        var isWaiting = false
    }

    private let contents: Mutex<Contents>

    init(_ state: State) {
        contents = Mutex(Contents(state: state))
    }

    var state: State { contents.withLock { $0.state } }

    func read<Result>(_ body: (borrowing State) -> Result) -> Result {
        contents.withLock { body($0.state) }
    }

    /// Publishes a state and returns the listeners to notify. What only the old state held is freed outside the lock.
    func publish(_ state: State) -> [any PublicationListener] {
        var state = state
        return contents.withLock { contents in
            swap(&contents.state, &state)
            var waiting: [any PublicationListener] = []
            for index in contents.listeners.indices where contents.listeners[index].isWaiting {
                contents.listeners[index].isWaiting = false
                waiting.append(contents.listeners[index].listener)
            }
            return waiting
        }
    }

    func addListener(_ listener: any PublicationListener) -> ListenerID {
        contents.withLock { contents in
            contents.lastID += 1
            let id = ListenerID(number: contents.lastID)
            contents.listeners.append(Listener(id: id, listener: listener))
            return id
        }
    }

    func removeListener(_ id: ListenerID) {
        let removed = contents.withLock { contents in
            contents.listeners.firstIndex { $0.id == id }.map { contents.listeners.remove(at: $0) }
        }
        // Freed here, and not under the lock.
        _ = removed
    }

    func watch(_ id: ListenerID) -> State {
        contents.withLock { contents in
            if let index = contents.listeners.firstIndex(where: { $0.id == id }) {
                contents.listeners[index].isWaiting = true
            }
            return contents.state
        }
    }
}

/// A listener to publications.
package protocol PublicationListener: AnyObject, Sendable {
    /// Called once another state is published. Runs on the thread that flushed; must not block.
    func published()
}

/// The name of a listener in the store.
package struct ListenerID: Hashable, Sendable {
    fileprivate let number: Int
}
