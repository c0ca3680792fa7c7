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
    nonisolated(nonsending) func run<Value: Sendable>(
        about keys: Set<KeyName>? = [], _ body: @escaping @Sendable () throws(DefaultsError) -> Value
    ) async throws(DefaultsError) -> Value {
        let cancellation = Cancellation()
        let result: Result<Value, DefaultsError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                add(about: keys) {
                    continuation.resume(returning: cancellation.isSet ? .failure(.cancelled) : Result(catching: body))
                }
            }
        } onCancel: {
            cancellation.set()
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

/// A flag that a cancellation handler sets for work outside the task.
private final class Cancellation: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() {
        flag.store(true, ordering: .releasing)
    }
}
