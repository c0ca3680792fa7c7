internal import Dispatch
internal import Platform
internal import SettingsModel
internal import Synchronization

/// A notice to an observer. Notices arrive in the order in which the replica changed.
struct ObserverNotice: Equatable, Sendable {
    /// True for the notice with which observing begins. It contains the present settings. A later notice contains one
    /// setting that may have changed.
    let isBeginning: Bool
    let settings: [ObservedSetting]
}

/// The keys that an observer observes, and a function that converts a notice into updates.
struct NoticeConversion<Update: Sendable>: Sendable {
    /// Nil for all keys of the suite.
    let keys: [KeyName]?
    /// Converts a notice. The observer passes the notices one after the other, in order. A notice may be about keys
    /// that are not in `keys`.
    let convert: @Sendable (ObserverNotice) -> [Update]
}

/// An observer without the type of its updates.
protocol AnyObserver: AnyObject, Sendable {
    var id: UInt64 { get }
    var core: AdapterCore { get }
    /// The keys that are observed. Nil for all keys.
    var keys: [KeyName]? { get }

    func add(_ notice: ObserverNotice)

    /// Adds this observer to a group, until a task has taken all waiting notices. The end of the group means that the
    /// program has applied a state (``ApplyingState``). Does nothing for an observer with a handler, because the group
    /// waits for the adapter's queue, which calls the handlers.
    func delayEnd(of group: HandlerGroup)

    /// Ends observing.
    ///
    /// - Parameter waits: true to wait until a call of the handler on another thread has returned.
    func end(waits: Bool)
}

/// An observer that queues notices until its handler is called or a task asks for updates.
///
/// The observer converts a notice into updates when it removes the notice from the queue. The old value of an update is
/// therefore the new value of the previous update, even if the queue has dropped a notice between both updates.
final class Observer<Update: Sendable>: AnyObserver {
    private typealias Waiter = CheckedContinuation<ObserverNotice?, Never>

    private struct State {
        var backlog = NoticeBacklog()
        /// The number of calls of `handleNext` that are on the adapter's queue.
        var scheduled = 0
        /// The task that waits for the next notice.
        var waiter: Waiter?
        /// True if there is an iterator that gets the updates.
        var isClaimed = false
        var isEnded = false
        /// The group whose end waits until the backlog is empty.
        var waitingGroup: HandlerGroup?
        /// The call of the handler that is running, with its thread.
        var running: (thread: UInt, end: Promise<Void>)?
    }

    let id: UInt64
    let core: AdapterCore
    let keys: [KeyName]?
    private let conversions: [NoticeConversion<Update>]
    /// Nil if tasks ask for the updates.
    private let handler: (@Sendable (Update) -> Void)?
    private let state = Mutex(State())

    init(_ core: AdapterCore, _ conversions: [NoticeConversion<Update>], handler: (@Sendable (Update) -> Void)?) {
        id = core.observers.nextID()
        keys = conversions.contains { $0.keys == nil } ? nil : conversions.flatMap { $0.keys ?? [] }
        self.core = core
        self.conversions = conversions
        self.handler = handler
    }

    func add(_ notice: ObserverNotice) {
        let (waiter, needsCall) = state.withLock { state -> (Waiter?, Bool) in
            guard !state.isEnded else { return (nil, false) }
            if let waiter = state.waiter.take() { return (waiter, false) }
            state.backlog.append(notice)
            guard handler != nil, state.scheduled < state.backlog.count else { return (nil, false) }
            state.scheduled += 1
            return (nil, true)
        }
        waiter?.resume(returning: notice)
        // There is one call for each notice, so that the handlers of all observers run in the order of the changes.
        if needsCall { core.observers.queue.async { [weak self] in self?.handleNext() } }
    }

    func delayEnd(of group: HandlerGroup) {
        state.withLock { state in
            guard handler == nil, state.backlog.count > 0, state.waitingGroup == nil else { return }
            group.enter()
            state.waitingGroup = group
        }
    }

    private func handleNext() {
        let notice = state.withLock { state in
            state.scheduled -= 1
            return state.backlog.popFirst()
        }
        guard let handler, let notice else { return }
        for conversion in conversions {
            for update in conversion.convert(notice) { call(handler, update) }
        }
    }

    private func call(_ handler: (Update) -> Void, _ update: Update) {
        let end = Promise<Void>()
        let isEnded = state.withLock { state in
            if !state.isEnded { state.running = (CurrentThread.identifier, end) }
            return state.isEnded
        }
        guard !isEnded else { return }
        handler(update)
        state.withLock { $0.running = nil }
        end.fulfill(())
    }

    func end(waits: Bool) {
        let (waiter, running, waitingGroup) = state.withLock { state in
            state.isEnded = true
            state.backlog = NoticeBacklog()
            return (state.waiter.take(), state.running, state.waitingGroup.take())
        }
        core.observers.remove(self)
        waitingGroup?.leave()
        waiter?.resume(returning: nil)
        // A handler that ends its own observation must not wait for itself.
        if waits, let running, running.thread != CurrentThread.identifier { running.end.waitForever() }
    }
}

/// The updates for a task.
extension Observer {
    /// Returns true for the first call. Only one iterator gets updates, because the observer delivers each update
    /// once.
    func claimUpdates() -> Bool {
        state.withLock { state in
            defer { state.isClaimed = true }
            return !state.isClaimed
        }
    }

    /// Waits for the next updates. Returns at least one update, or nil if observing has ended, the task is cancelled,
    /// or a copy of the iterator has begun to wait instead. The cancellation of the task ends observing for all copies
    /// of the iterator.
    func next(isolation actor: isolated (any Actor)?) async -> [Update]? {
        while let notice = await nextNotice(isolation: actor) {
            let updates = conversions.flatMap { $0.convert(notice) }
            if !updates.isEmpty { return updates }
        }
        return nil
    }

    private func nextNotice(isolation actor: isolated (any Actor)?) async -> ObserverNotice? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (notice, replaced, group) = state.withLock { state -> (ObserverNotice??, Waiter?, HandlerGroup?) in
                    // `.some(nil)` resumes this wait without a notice. A plain nil means that the wait continues.
                    if state.isEnded { return (.some(nil), nil, nil) }
                    if let notice = state.backlog.popFirst() {
                        return (notice, nil, state.backlog.count == 0 ? state.waitingGroup.take() : nil)
                    }
                    // Copies of the iterator may wait at the same time. The last copy replaces the others and gets the
                    // update.
                    let replaced = state.waiter
                    state.waiter = continuation
                    return (nil, replaced, nil)
                }
                replaced?.resume(returning: nil)
                group?.leave()
                if let notice { continuation.resume(returning: notice) }
            }
        } onCancel: {
            end(waits: false)
        }
    }
}

/// A queue of notices. When the queue is full, it keeps only the newest notice of each key. The queue therefore
/// contains at most 1024 notices, or two notices for each key if there are more than 512 keys.
struct NoticeBacklog: Sendable {
    /// The smallest number of notices at which the queue is full.
    static let minimumLimit = 1024

    private var notices: ArraySlice<ObserverNotice> = []
    private var limit = Self.minimumLimit

    var count: Int { notices.count }

    mutating func append(_ notice: ObserverNotice) {
        if count >= limit { dropSupersededNotices() }
        notices.append(notice)
    }

    mutating func popFirst() -> ObserverNotice? {
        defer { if notices.isEmpty { notices = [] } }
        return notices.popFirst()
    }

    /// Drops each notice about a key that has a newer notice. Keeps the notice with which observing begins, because it
    /// has the first old values. Keeps the order.
    private mutating func dropSupersededNotices() {
        var keys: Set<KeyName> = []
        let remaining = notices.reversed().filter { notice in
            notice.isBeginning || notice.settings.contains { keys.insert($0.key).inserted }
        }
        notices = ArraySlice(remaining.reversed())
        limit = max(Self.minimumLimit, 2 * notices.count)
    }
}
