internal import SettingsEngine
internal import Synchronization

/// The published state, which all readers see, and the listeners for the next published state.
///
/// A lock protects the state and the listeners. It is held for short operations only, and never while a listener is
/// called. Thread-safe.
final class Published: Sendable {
    private struct Contents {
        var state: State
        var listeners: [Listener] = []
        var lastID = 0
        /// The listener that is notified when the pending actions (reverts and scheduled writes) have changed.
        var pendingListener: (any PublicationListener)?
    }

    private struct Listener {
        let id: ListenerID
        let listener: any PublicationListener
        /// True if the listener has asked to be notified when the next state is published.
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

    /// Publishes a state and returns the listeners to notify.
    func publish(_ state: State) -> [any PublicationListener] {
        // The swap moves the old state into this variable, so that it is released outside the lock.
        var state = state
        return contents.withLock { contents in
            swap(&contents.state, &state)
            var waiting: [any PublicationListener] = []
            if let listener = contents.pendingListener,
                contents.state.lastPendingChange != state.lastPendingChange
            {
                waiting.append(listener)
            }
            for index in contents.listeners.indices where contents.listeners[index].isWaiting {
                contents.listeners[index].isWaiting = false
                waiting.append(contents.listeners[index].listener)
            }
            return waiting
        }
    }

    func setPendingListener(_ listener: (any PublicationListener)?) {
        contents.withLock { $0.pendingListener = listener }
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
        // The listener is released here, outside the lock.
        _ = removed
    }

    /// Makes the next publication notify a listener. Returns the present state in the same step, so that the listener
    /// misses no publication.
    func watch(_ id: ListenerID) -> State {
        contents.withLock { contents in
            if let index = contents.listeners.firstIndex(where: { $0.id == id }) {
                contents.listeners[index].isWaiting = true
            }
            return contents.state
        }
    }
}

package protocol PublicationListener: AnyObject, Sendable {
    /// Called after another state is published. Runs on the commit thread. Must not block.
    func published()
}

/// The identifier of a listener, assigned by `addListener`.
package struct ListenerID: Hashable, Sendable {
    fileprivate let number: Int
}
