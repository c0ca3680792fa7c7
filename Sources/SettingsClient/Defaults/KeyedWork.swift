internal import Dispatch
internal import SettingsModel
internal import Synchronization

/// Work that blocks, several pieces at a time. What is about the same key is done in the order in which it came: so tasks
/// that begin one after the other, as those of an actor do, write a key in that order.
final class KeyedWork: Sendable {
    /// As many connections as are kept for the next request.
    static let mostAtOnce = 8

    private let queue = DispatchQueue(label: "settings of an adapter", attributes: .concurrent)
    private let shared = Mutex(Shared())

    fileprivate struct Piece {
        let keys: Set<KeyName>
        let body: @Sendable () -> Void
        /// How many it waits for.
        var waitsFor = 0
        /// What waits for it.
        var followers: [UInt64] = []
    }

    fileprivate struct Shared {
        /// All that is not done yet.
        var pieces: [UInt64: Piece] = [:]
        var lastID: UInt64 = 0
        /// The last piece about each key.
        var latest: [KeyName: UInt64] = [:]
        /// What waits for nothing but room.
        var ready: ArraySlice<UInt64> = []
        var running = 0
    }

    /// Whether something about a key is not done yet.
    func isBusy(with key: KeyName) -> Bool {
        shared.withLock { $0.latest[key] != nil }
    }

    /// Does something behind all that is about one of these keys.
    func add(about keys: Set<KeyName>, _ body: @escaping @Sendable () -> Void) {
        start(shared.withLock { $0.add(keys, behind: { shared in keys.compactMap { shared.latest[$0] } }, body) })
    }

    /// Does something behind all that came before.
    func addBehindAll(_ body: @escaping @Sendable () -> Void) {
        start(shared.withLock { $0.add([], behind: { Array($0.pieces.keys) }, body) })
    }

    private func start(_ pieces: [(id: UInt64, body: @Sendable () -> Void)]) {
        for (id, body) in pieces {
            queue.async { [self] in
                body()
                start(shared.withLock { $0.finish(id) })
            }
        }
    }
}

extension KeyedWork.Shared {
    typealias Begun = [(id: UInt64, body: @Sendable () -> Void)]

    fileprivate mutating func add(
        _ keys: Set<KeyName>, behind others: (Self) -> [UInt64], _ body: @escaping @Sendable () -> Void
    ) -> Begun {
        let before = Set(others(self))
        lastID += 1
        for id in before { pieces[id]?.followers.append(lastID) }
        for key in keys { latest[key] = lastID }
        pieces[lastID] = KeyedWork.Piece(keys: keys, body: body, waitsFor: before.count)
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

    /// Has as much begin as there is room for.
    private mutating func begin() -> Begun {
        var begun: Begun = []
        while running < KeyedWork.mostAtOnce, let id = ready.popFirst() {
            guard let piece = pieces[id] else { continue }
            running += 1
            begun.append((id, piece.body))
        }
        return begun
    }
}
