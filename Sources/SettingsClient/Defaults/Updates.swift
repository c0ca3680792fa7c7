public import SettingsKeys

/// The updates that an observer gets, and their contents.
public struct ObservingOptions: OptionSet, Hashable, Sendable {
    /// The options as bits.
    public let rawValue: UInt8

    /// Creates options from bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The first update contains the present value.
    public static let initial = ObservingOptions(rawValue: 1)
    /// Each update contains the value before the change.
    public static let old = ObservingOptions(rawValue: 2)
    /// This option has no effect, because every update contains the new value.
    public static let new = ObservingOptions(rawValue: 4)
}

/// A change of a setting's value.
///
/// Both values are effective values. After a removal, the new value is therefore the default. A write that does not
/// change the effective value, for example because a command line argument overrides the stored value, causes no
/// update.
public struct DefaultsUpdate<Value: DefaultsSerializable>: Sendable {
    /// The name of the key.
    public let key: String
    /// The value before the change. Nil in an initial update, and without the option ``ObservingOptions/old``.
    public let oldValue: Value?
    /// The new value.
    public let newValue: Value
    /// True if the update is not a change, but contains the value at the time when observing began.
    public let isInitial: Bool
}

extension DefaultsUpdate: Equatable where Value: Equatable {}

/// A change of one of several observed settings. Its subscript returns the update of a key:
///
///     for await update in Defaults.updates(of: \.volume, \.theme) {
///         if let volume = update[\.volume] { player.volume = volume.newValue }
///         if let theme = update[\.theme] { window.theme = theme.newValue }
///     }
public struct KeyedUpdate<KeyStore: Sendable>: Sendable {
    /// The name of the key.
    public let key: String
    /// True if the update is not a change, but contains the value at the time when observing began.
    public let isInitial: Bool
    private let update: any Sendable
    private let keyStore: KeyStore

    init<Value>(_ update: DefaultsUpdate<Value>, of keyStore: KeyStore) {
        self.keyStore = keyStore
        key = update.key
        isInitial = update.isInitial
        self.update = update
    }

    /// The update of a key. Nil if another key has changed.
    public subscript<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> DefaultsUpdate<Value>? {
        guard let update = update as? DefaultsUpdate<Value>,
            update.key.utf8.elementsEqual(keyStore[keyPath: path].name.utf8)
        else { return nil }
        return update
    }
}

/// A change of any setting of the suite. The values do not include the defaults of the program's keys.
public struct UntypedUpdate: Equatable, Sendable {
    /// The name of the key.
    public let key: String
    /// The value before the change. Nil if there was no value, in an initial update, and without the option
    /// ``ObservingOptions/old``.
    public let oldValue: JSONValue?
    /// The new value. Nil if there is no value.
    public let newValue: JSONValue?
    /// True if the update is not a change, but contains the value at the time when observing began.
    public let isInitial: Bool
}

/// An observation with a handler. The adapter calls the handler until the observation is released or cancelled.
///
/// The observation retains the adapter and the handler. If the handler uses the object that owns the observation,
/// capture this object weakly to avoid a retain cycle.
public final class DefaultsObservation: Sendable {
    private let observer: any AnyObserver

    init(_ observer: any AnyObserver) {
        self.observer = observer
    }

    deinit {
        // The thread that releases the observation may hold a lock that the handler waits for, so the deinitializer
        // does not wait.
        observer.end(waits: false)
    }

    /// Ends observing. When this method returns, the handler is not running and is not called again.
    ///
    /// If the handler is running on another thread, the method waits until the handler returns. Do not hold a lock that
    /// the handler needs. Within the handler itself the method returns at once.
    public func cancel() {
        observer.end(waits: true)
    }
}

/// A sequence of updates of settings. Observing begins when the adapter returns the sequence.
///
/// Only one loop can use the sequence, because only the first iterator gets updates. Observing ends when the task of
/// the loop is cancelled or the iterator is released. A slow loop gets every update unless more than about a thousand
/// changes wait. The loop then gets only the newest change of each key.
public struct DefaultsUpdates<Update: Sendable>: AsyncSequence, Sendable {
    private let observer: Observer<Update>
    /// Ends observing when the program releases the sequence without having made an iterator.
    private let observation: DefaultsObservation

    init(_ observer: Observer<Update>) {
        self.observer = observer
        observation = DefaultsObservation(observer)
    }

    /// Returns an iterator. Only the first iterator of a sequence returns updates.
    public func makeAsyncIterator() -> Iterator {
        Iterator(observer.claimUpdates() ? self : nil)
    }

    /// An iterator that waits for updates.
    public struct Iterator: AsyncIteratorProtocol {
        /// The iterator retains the sequence, because the release of the sequence would end observing.
        private let sequence: DefaultsUpdates?
        /// Ends observing when the iterator is released.
        private let observation: DefaultsObservation?
        /// The updates of the last change that the iterator has not returned yet. A change causes several updates if
        /// several observed keys have the same name.
        private var remaining: ArraySlice<Update> = []

        init(_ sequence: DefaultsUpdates?) {
            self.sequence = sequence
            observation = sequence.map { DefaultsObservation($0.observer) }
        }

        /// Returns the next update. Returns nil after the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Update? {
            if remaining.isEmpty { remaining = await sequence?.observer.next(isolation: actor)?[...] ?? [] }
            return remaining.popFirst()
        }
    }
}
