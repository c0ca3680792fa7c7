internal import SettingsModel

/// The observation of a handler: when it is dropped, the handler is not called any more.
///
/// It keeps the adapter alive. A handler that captures the owner of its observation keeps both alive: capture weakly.
public final class DefaultsObservation: Sendable {
    private let observer: any AnyObserver

    init(_ observer: any AnyObserver) {
        self.observer = observer
    }

    deinit {
        // The thread that drops it may hold a lock that the handler waits for.
        observer.end(waits: false)
    }

    /// Ends observing. When this returns, the handler is not running and is not called again; if it is running on
    /// another thread, this waits for it, so do not call it while holding what the handler waits for. Within the handler
    /// itself it returns at once.
    public func dispose() {
        observer.end(waits: true)
    }
}

/// ``DefaultsObservation`` under the name that users of typed user defaults know.
public typealias DefaultsDisposable = DefaultsObservation

/// The updates of settings as a sequence, from the moment when it was asked for.
///
/// It is for one loop: updates are given once, to the first iterator. It ends when the task is cancelled or the iterator
/// is dropped, and its memory is freed. A loop that falls behind gets every update as long as no more than about
/// a thousand changes wait for it; beyond that, of each key the newest.
public struct DefaultsUpdates<Update: Sendable>: AsyncSequence, Sendable {
    /// An update.
    public typealias Element = Update
    /// Nothing: a stored value that is none of its key is reported and passed over.
    public typealias Failure = Never

    private let observer: Observer<Update>
    /// Ends observing when sequence and iterator are dropped.
    private let observation: DefaultsObservation

    init(_ observer: Observer<Update>) {
        self.observer = observer
        observation = DefaultsObservation(observer)
    }

    /// Begins to listen. Any but the first iterator is at its end.
    public func makeAsyncIterator() -> Iterator {
        Iterator(observer.claim() ? self : nil)
    }

    /// An iterator that waits for updates.
    public struct Iterator: AsyncIteratorProtocol {
        /// Retained so that the sequence does not end observing when it is freed first.
        private let sequence: DefaultsUpdates?
        /// Ends observing when the iterator is dropped.
        private let observation: DefaultsObservation?
        /// The rest of what the last change led to: several updates if several keys share a name.
        private var rest: ArraySlice<Update> = []

        init(_ sequence: DefaultsUpdates?) {
            self.sequence = sequence
            observation = sequence.map { DefaultsObservation($0.observer) }
        }

        /// The next update; nil once the task is cancelled.
        public mutating func next() async -> Update? {
            await next(isolation: nil)
        }

        /// The next update; nil once the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Update? {
            if rest.isEmpty { rest = await sequence?.observer.next(isolation: actor)?[...] ?? [] }
            return rest.popFirst()
        }
    }
}
