internal import SettingsModel
internal import Synchronization

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

    private let end: StreamEnd<Update>

    init(_ stream: UpdateStream<Update>) {
        end = StreamEnd(stream)
    }

    /// Begins to listen. Any but the first iterator is at its end.
    public func makeAsyncIterator() -> Iterator {
        Iterator(end.stream.claim() ? end : nil)
    }

    /// An iterator that waits for updates.
    public struct Iterator: AsyncIteratorProtocol {
        /// Retained so that the sequence does not end the stream when it is freed first.
        private let sequence: StreamEnd<Update>?
        private let own: StreamEnd<Update>?
        /// The rest of what the last change led to: several updates if several keys share a name.
        private var rest: ArraySlice<Update> = []

        init(_ sequence: StreamEnd<Update>?) {
            self.sequence = sequence
            own = sequence.map { StreamEnd($0.stream) }
        }

        /// The next update; nil once the task is cancelled.
        public mutating func next() async -> Update? {
            await next(isolation: nil)
        }

        /// The next update; nil once the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Update? {
            if rest.isEmpty { rest = await own?.stream.next(isolation: actor)?[...] ?? [] }
            return rest.popFirst()
        }
    }
}

/// A reference that ends its stream when it is freed.
final class StreamEnd<Update: Sendable>: Sendable {
    let stream: UpdateStream<Update>

    init(_ stream: UpdateStream<Update>) {
        self.stream = stream
    }

    deinit {
        stream.end(waits: false)
    }
}

/// An observer that keeps notices until a task takes updates.
///
/// Notices wait as they came, and are made into updates when they are taken: so leaving one out changes no old value.
final class UpdateStream<Update: Sendable>: SettingObserver {
    let id: UInt64
    let keys: [KeyName]?
    let isQueued = false

    private typealias Waiter = CheckedContinuation<ObserverNotice?, Never>

    private struct Shared {
        var backlog = NoticeBacklog()
        var isClaimed = false
        var isEnded = false
        /// The task that waits for the next notice.
        var waiter: Waiter?
    }

    let core: AdapterCore
    private let trails: [any SettingTrail<Update>]
    private let shared = Mutex(Shared())

    init(_ core: AdapterCore, _ trails: [any SettingTrail<Update>]) {
        id = core.observers.nextID()
        keys = core.keys(of: trails)
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

    /// True for the first caller: only one can take updates, as each is given once.
    func claim() -> Bool {
        shared.withLock { shared in
            defer { shared.isClaimed = true }
            return !shared.isClaimed
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
                    // Copies of the one iterator may wait at the same time; the update is for the last caller.
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
        let completed = try? await core.work.run { () throws(DefaultsError) in core.completed(notice) }
        return completed ?? notice
    }
}
