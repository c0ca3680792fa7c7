internal import Dispatch
internal import Platform
internal import SettingsModel
internal import Synchronization

/// A notice to an observer. Notices come in the order in which readers could see the changes.
struct ObserverNotice: Equatable, Sendable {
    /// True if observing begins here, with these settings; else one key may have another value.
    let isBeginning: Bool
    let settings: [ObservedSetting]
}

/// The keys whose notices an observer wants, and the function that makes updates of them.
struct UpdateSource<Update: Sendable>: Sendable {
    /// Nil for all keys of the suite.
    let keys: [KeyName]?
    /// Called with one notice after the other, in order, of whatever key.
    let follow: @Sendable (ObserverNotice) -> [Update]
}

/// An observer as the table knows it, whatever its updates are.
protocol AnyObserver: AnyObject, Sendable {
    var id: UInt64 { get }
    var core: AdapterCore { get }
    /// The keys that are observed; nil for all.
    var keys: [KeyName]? { get }

    /// Adds a notice to the observer's queue.
    func add(_ notice: ObserverNotice)

    /// Ends observing.
    ///
    /// - Parameter waits: true to return only when a call of the handler on another thread has ended.
    func end(waits: Bool)
}

/// An observer that queues notices, until its handler is called or a task takes updates.
///
/// Notices are made into updates when they are taken: so leaving one out changes no old value.
final class Observer<Update: Sendable>: AnyObserver {
    private typealias Waiter = CheckedContinuation<ObserverNotice?, Never>

    private struct State {
        var backlog = NoticeBacklog()
        /// How many calls for the handler are on the adapter's queue.
        var scheduled = 0
        /// The task that waits for the next notice.
        var waiter: Waiter?
        var isClaimed = false
        var isEnded = false
        /// The call of the handler that is running, with its thread.
        var running: (thread: UInt, end: Promise<Void>)?
    }

    let id: UInt64
    let core: AdapterCore
    let keys: [KeyName]?
    private let sources: [UpdateSource<Update>]
    /// Nil if tasks take the updates.
    private let handler: (@Sendable (Update) -> Void)?
    private let state = Mutex(State())

    init(_ core: AdapterCore, _ sources: [UpdateSource<Update>], handler: (@Sendable (Update) -> Void)?) {
        id = core.observers.nextID()
        keys = sources.contains { $0.keys == nil } ? nil : sources.flatMap { $0.keys ?? [] }
        self.core = core
        self.sources = sources
        self.handler = handler
    }

    func add(_ notice: ObserverNotice) {
        let (waiter, isCall) = state.withLock { state -> (Waiter?, Bool) in
            guard !state.isEnded else { return (nil, false) }
            if let waiter = state.waiter.take() { return (waiter, false) }
            state.backlog.append(notice)
            guard handler != nil, state.scheduled < state.backlog.count else { return (nil, false) }
            state.scheduled += 1
            return (nil, true)
        }
        waiter?.resume(returning: notice)
        // A call for each notice, so that handlers of an adapter run in the order of the changes.
        if isCall { core.observers.queue.async { [weak self] in self?.handleNext() } }
    }

    private func handleNext() {
        let notice = state.withLock { state in
            state.scheduled -= 1
            return state.backlog.popFirst()
        }
        guard let handler, let notice else { return }
        for source in sources {
            for update in source.follow(notice) { call(handler, update) }
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
        let (waiter, running) = state.withLock { state in
            state.isEnded = true
            state.backlog = NoticeBacklog()
            return (state.waiter.take(), state.running)
        }
        core.observers.remove(self)
        waiter?.resume(returning: nil)
        // Within the handler itself there is nothing to wait for.
        if waits, let running, running.thread != CurrentThread.identifier { running.end.waitForever() }
    }
}

/// For tasks.
extension Observer {
    /// True for the first caller: only one can take updates, as each is given once.
    func claim() -> Bool {
        state.withLock { state in
            defer { state.isClaimed = true }
            return !state.isClaimed
        }
    }

    /// Waits for the next updates, at least one; nil if observing has ended, also because the task is cancelled.
    func next(isolation actor: isolated (any Actor)?) async -> [Update]? {
        while let notice = await nextNotice(isolation: actor) {
            let updates = sources.flatMap { $0.follow(notice) }
            if !updates.isEmpty { return updates }
        }
        return nil
    }

    private func nextNotice(isolation actor: isolated (any Actor)?) async -> ObserverNotice? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (notice, former) = state.withLock { state -> (ObserverNotice??, Waiter?) in
                    if state.isEnded { return (.some(nil), nil) }
                    if let notice = state.backlog.popFirst() { return (notice, nil) }
                    // Copies of the one iterator may wait at the same time; the update is for the last caller.
                    let former = state.waiter
                    state.waiter = continuation
                    return (nil, former)
                }
                former?.resume(returning: nil)
                if let notice { continuation.resume(returning: notice) }
            }
        } onCancel: {
            end(waits: false)
        }
    }
}

/// A queue of notices. It is bounded: beyond that, of each key only the newest is kept, so there are never more than
/// twice as many as keys, or the bound.
struct NoticeBacklog: Sendable {
    /// So many may wait before any is left out.
    static let bound = 1024

    private var notices: ArraySlice<ObserverNotice> = []
    private var limit = Self.bound

    var count: Int { notices.count }

    mutating func append(_ notice: ObserverNotice) {
        if count >= limit { thinOut() }
        notices.append(notice)
    }

    mutating func popFirst() -> ObserverNotice? {
        defer { if notices.isEmpty { notices = [] } }
        return notices.popFirst()
    }

    /// Keeps the newest of each key, in its place. The beginning is kept: it holds the first old values.
    private mutating func thinOut() {
        var seen: Set<KeyName> = []
        let kept = notices.reversed().filter { notice in
            notice.isBeginning || notice.settings.contains { seen.insert($0.key).inserted }
        }
        notices = ArraySlice(kept.reversed())
        limit = max(Self.bound, 2 * notices.count)
    }
}
