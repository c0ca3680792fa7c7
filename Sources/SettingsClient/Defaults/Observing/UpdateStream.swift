internal import SettingsModel
internal import Synchronization

/// An observer from which somebody takes updates when they want some.
///
/// What waits is as it came, and is made into updates when it is taken: so leaving something out changes no old value.
final class UpdateStream<Update: Sendable>: SettingObserver {
    let id: UInt64
    let keys: [KeyName]?
    let isQueued = false

    private let core: AdapterCore
    private let trails: [any SettingTrail<Update>]
    private let shared = Mutex(Shared())

    private typealias Waiter = CheckedContinuation<ObserverNotice?, Never>

    private struct Shared {
        var backlog = NoticeBacklog()
        var isTaken = false
        var isEnded = false
        /// Who waits for the next notice.
        var waiter: Waiter?
    }

    init(_ core: AdapterCore, _ trails: [any SettingTrail<Update>]) {
        id = core.observers.nextID()
        keys = AdapterCore.keys(of: trails)
        self.core = core
        self.trails = trails
    }

    func take(_ notice: ObserverNotice) {
        let waiter = shared.withLock { shared -> Waiter? in
            guard !shared.isEnded else { return nil }
            if let waiter = shared.waiter.take() { return waiter }
            shared.backlog.append(notice)
            return nil
        }
        waiter?.resume(returning: notice)
    }

    func end(waits: Bool) {
        let waiter = shared.withLock { shared in
            shared.isEnded = true
            shared.backlog.removeAll()
            return shared.waiter.take()
        }
        core.observers.remove(self)
        waiter?.resume(returning: nil)
    }

    /// True for the first who asks: only one can take updates, as each is given once.
    func claim() -> Bool {
        shared.withLock { shared in
            defer { shared.isTaken = true }
            return !shared.isTaken
        }
    }

    /// The next updates, at least one; nil if it has ended, also because the task is cancelled.
    func next(isolation actor: isolated (any Actor)?) async -> [Update]? {
        while let notice = await nextNotice(isolation: actor) {
            let updates = trails.flatMap { $0.follow(notice) }
            if !updates.isEmpty { return updates }
        }
        return nil
    }

    private func nextNotice(isolation actor: isolated (any Actor)?) async -> ObserverNotice? {
        let notice = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (notice, former) = shared.withLock { shared -> (ObserverNotice??, Waiter?) in
                    if shared.isEnded { return (.some(nil), nil) }
                    if let item = shared.backlog.popFirst() { return (item.notice, nil) }
                    // Copies of the one iterator may wait at the same time; the update is for who asked last.
                    let former = shared.waiter
                    shared.waiter = continuation
                    return (nil, former)
                }
                former?.resume(returning: nil)
                if let notice { continuation.resume(returning: notice) }
            }
        } onCancel: {
            end(waits: false)
        }
        guard let notice, notice.lacksSource else { return notice }
        // Asking blocks, and a task must not.
        let core = core
        let completed = try? await core.offload { () throws(DefaultsError) in core.completed(notice) }
        return completed ?? notice
    }
}

/// Ends a stream when nobody holds it any more.
final class StreamEnd<Update: Sendable>: Sendable {
    let stream: UpdateStream<Update>

    init(_ stream: UpdateStream<Update>) {
        self.stream = stream
    }

    deinit {
        stream.end(waits: false)
    }
}
