internal import Dispatch
internal import SettingsModel
internal import Synchronization

/// A queue for blocking work of tasks, which runs several pieces at a time. Work about the same key is done in the order in
/// which it came: so tasks that begin one after the other, as those of an actor do, write a key in that order.
final class KeyedWork: Sendable {
    /// As many as there are connections kept for the next request.
    static let maxRunning = 8

    private let queue = DispatchQueue(label: "settings of an adapter", attributes: .concurrent)
    private let shared = Mutex(Shared())

    fileprivate struct Piece {
        let keys: Set<KeyName>
        let body: @Sendable () -> Void
        var waitsFor: Int
        /// The pieces that wait for this one.
        var followers: [UInt64] = []
    }

    fileprivate struct Shared {
        var pieces: [UInt64: Piece] = [:]
        var lastID: UInt64 = 0
        /// The last piece about each key.
        var latest: [KeyName: UInt64] = [:]
        /// The pieces that wait only for one of those that run to end.
        var ready: ArraySlice<UInt64> = []
        var running = 0
    }

    /// True if work about a key is not done yet.
    func isBusy(with key: KeyName) -> Bool {
        shared.withLock { $0.latest[key] != nil }
    }

    /// Adds blocking work behind earlier work about the same keys; with nil, behind all earlier work.
    func add(about keys: Set<KeyName>?, _ body: @escaping @Sendable () -> Void) {
        start(shared.withLock { $0.add(keys, body) })
    }

    /// Runs blocking work off the threads of the pool. Work that has not begun when its task is cancelled is not done.
    ///
    /// The work is added before anything is awaited. What runs inside a cancellation handler has left the caller's actor,
    /// and tasks of the actor could overtake each other there.
    nonisolated(nonsending) func run<Value: Sendable>(
        about keys: Set<KeyName>? = [], _ body: @escaping @Sendable () throws(DefaultsError) -> Value
    ) async throws(DefaultsError) -> Value {
        guard !Task.isCancelled else { throw .cancelled }
        let work = AwaitedWork<Value>()
        add(about: keys) { work.run(body) }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { work.wait($0) }
        } onCancel: {
            work.cancel()
        }
        return try result.get()
    }

    private func start(_ pieces: Shared.Begun) {
        for (id, body) in pieces {
            queue.async { [self] in
                body()
                start(shared.withLock { $0.finish(id) })
            }
        }
    }
}

extension KeyedWork.Shared {
    fileprivate typealias Begun = [(id: UInt64, body: @Sendable () -> Void)]

    fileprivate mutating func add(_ keys: Set<KeyName>?, _ body: @escaping @Sendable () -> Void) -> Begun {
        let before = keys.map { keys in Set(keys.compactMap { latest[$0] }) } ?? Set(pieces.keys)
        lastID += 1
        for id in before { pieces[id]?.followers.append(lastID) }
        for key in keys ?? [] { latest[key] = lastID }
        pieces[lastID] = KeyedWork.Piece(keys: keys ?? [], body: body, waitsFor: before.count)
        if before.isEmpty { ready.append(lastID) }
        return begin()
    }

    fileprivate mutating func finish(_ id: UInt64) -> Begun {
        running -= 1
        guard let piece = pieces.removeValue(forKey: id) else { return begin() }
        for key in piece.keys where latest[key] == id { latest[key] = nil }
        for follower in piece.followers {
            pieces[follower]?.waitsFor -= 1
            if pieces[follower]?.waitsFor == 0 { ready.append(follower) }
        }
        return begin()
    }

    private mutating func begin() -> Begun {
        var begun: Begun = []
        while running < KeyedWork.maxRunning, let id = ready.popFirst() {
            guard let piece = pieces[id] else { continue }
            running += 1
            begun.append((id, piece.body))
        }
        return begun
    }
}

/// Work that a task awaits, with its result until the task takes it.
private final class AwaitedWork<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, DefaultsError>

    private struct State {
        var isCancelled = false
        var outcome: Outcome?
        var continuation: CheckedContinuation<Outcome, Never>?
    }

    private let state = Mutex(State())

    func run(_ body: () throws(DefaultsError) -> Value) {
        let outcome: Outcome = state.withLock { $0.isCancelled } ? .failure(.cancelled) : Result(catching: body)
        let continuation = state.withLock { state in
            state.outcome = outcome
            return state.continuation.take()
        }
        continuation?.resume(returning: outcome)
    }

    func wait(_ continuation: CheckedContinuation<Outcome, Never>) {
        let outcome = state.withLock { state in
            if state.outcome == nil { state.continuation = continuation }
            return state.outcome
        }
        if let outcome { continuation.resume(returning: outcome) }
    }

    /// Keeps the work from being done, unless it has begun.
    func cancel() {
        state.withLock { $0.isCancelled = true }
    }
}
