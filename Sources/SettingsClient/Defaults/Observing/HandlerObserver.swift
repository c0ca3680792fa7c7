internal import Glibc
internal import SettingsModel
internal import Synchronization

/// An observer that calls a handler, on the queue of its adapter.
final class HandlerObserver<Update: Sendable>: SettingObserver {
    let id: UInt64
    let keys: [KeyName]?
    let isQueued = true

    private let core: AdapterCore
    private let trails: [any SettingTrail<Update>]
    private let handler: @Sendable (Update) -> Void
    private let isEnded = Atomic(false)
    /// Held while the handler runs, so that ending can wait for it.
    private let gate = Mutex<Void>(())
    /// The thread on which the handler runs; 0 if it does not. It must not wait for itself.
    private let thread = Atomic<UInt>(0)

    init(
        _ core: AdapterCore, _ trails: [any SettingTrail<Update>], _ handler: @escaping @Sendable (Update) -> Void
    ) {
        id = core.observers.nextID()
        keys = AdapterCore.keys(of: trails)
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
