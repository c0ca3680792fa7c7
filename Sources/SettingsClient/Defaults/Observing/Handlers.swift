internal import Glibc
internal import SettingsModel
internal import Synchronization

/// The observation of a handler: when it is dropped, the handler is not called any more.
///
/// It keeps the adapter alive. A handler that captures the owner of its observation keeps both alive: capture weakly.
public final class DefaultsObservation: Sendable {
    private let observer: any SettingObserver

    init(_ observer: some SettingObserver) {
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

/// An observer that calls a handler, on the queue of its adapter.
final class HandlerObserver<Update: Sendable>: SettingObserver {
    let id: UInt64
    let keys: [KeyName]?
    let isQueued = true

    let core: AdapterCore
    private let trails: [any SettingTrail<Update>]
    private let handler: @Sendable (Update) -> Void
    private let isEnded = Atomic(false)
    /// Held while the handler runs, so that ending can wait for it.
    private let gate = Mutex<Void>(())
    /// The thread on which the handler runs, which must not wait for itself; 0 for none.
    private let thread = Atomic<UInt>(0)

    init(
        _ core: AdapterCore, _ trails: [any SettingTrail<Update>], _ handler: @escaping @Sendable (Update) -> Void
    ) {
        id = core.observers.nextID()
        keys = core.keys(of: trails)
        self.core = core
        self.trails = trails
        self.handler = handler
    }

    func take(_ notice: ObserverNotice) {
        guard !isEnded.load(ordering: .acquiring) else { return }
        let notice = core.completed(notice)
        for trail in trails {
            for update in trail.follow(notice) { call(update) }
        }
    }

    private func call(_ update: Update) {
        gate.withLock { _ in
            guard !isEnded.load(ordering: .acquiring) else { return }
            thread.store(UInt(pthread_self()), ordering: .relaxed)
            defer { thread.store(0, ordering: .relaxed) }
            handler(update)
        }
    }

    func end(waits: Bool) {
        isEnded.store(true, ordering: .releasing)
        core.observers.remove(self)
        guard waits, thread.load(ordering: .relaxed) != UInt(pthread_self()) else { return }
        gate.withLock { _ in }
    }
}
