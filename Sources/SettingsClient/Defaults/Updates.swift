public import SettingsKeys

/// The contents that an observer wants in its updates.
public struct ObservingOptions: OptionSet, Hashable, Sendable {
    /// The options as bits.
    public let rawValue: UInt8

    /// Options of these bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Begin with an update that holds the present value.
    public static let initial = ObservingOptions(rawValue: 1)
    /// Include the value before.
    public static let old = ObservingOptions(rawValue: 2)
    /// Include the new value, as every update does.
    public static let new = ObservingOptions(rawValue: 4)
}

/// A change of a setting's value.
///
/// Both values are what a reader gets: after a removal the default is the new one. A write that leaves a reader's value as
/// it is, as under a launch argument, is no update.
public struct DefaultsUpdate<Value: DefaultsSerializable>: Sendable {
    /// The name of the key.
    public let key: String
    /// The value before; nil in an initial update, and without the option ``ObservingOptions/old``.
    public let oldValue: Value?
    /// The new value.
    public let newValue: Value
    /// True if nothing has changed yet: the value is the one at the time when observing began.
    public let isInitial: Bool
}

extension DefaultsUpdate: Equatable where Value: Equatable {}

/// A change of one of several observed settings. Its subscript gives the values by the path of the key:
///
///     for await update in Defaults.updates(of: \.volume, \.theme) {
///         if let volume = update[\.volume] { player.volume = volume.newValue }
///         if let theme = update[\.theme] { window.theme = theme.newValue }
///     }
public struct KeyedUpdate<KeyStore: Sendable>: Sendable {
    /// The name of the key.
    public let key: String
    /// True if nothing has changed yet: the value is the one at the time when observing began.
    public let isInitial: Bool
    private let update: any Sendable
    private let keyStore: KeyStore

    init<Value>(_ update: DefaultsUpdate<Value>, of keyStore: KeyStore) {
        self.keyStore = keyStore
        key = update.key
        isInitial = update.isInitial
        self.update = update
    }

    /// The update of a key; nil if it is of another one.
    public subscript<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> DefaultsUpdate<Value>? {
        guard let update = update as? DefaultsUpdate<Value>,
            update.key.utf8.elementsEqual(keyStore[keyPath: path].name.utf8)
        else { return nil }
        return update
    }
}

/// A change of any setting of the suite. The defaults of keys are not known here.
public struct UntypedUpdate: Equatable, Sendable {
    /// The name of the key.
    public let key: String
    /// The value before; nil if there was none, in an initial update, and without the option ``ObservingOptions/old``.
    public let oldValue: JSONValue?
    /// The new value; nil if there is none.
    public let newValue: JSONValue?
    /// True if nothing has changed yet: the value is the one at the time when observing began.
    public let isInitial: Bool
}

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
    public func cancel() {
        observer.end(waits: true)
    }
}

/// The updates of settings as a sequence, from the moment when it was asked for.
///
/// It is for one loop: updates are given once, to the first iterator. It ends when the task is cancelled or the iterator
/// is dropped, and its memory is freed. A loop that falls behind gets every update as long as no more than about
/// a thousand changes wait for it; beyond that, of each key the newest.
public struct DefaultsUpdates<Update: Sendable>: AsyncSequence, Sendable {
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
