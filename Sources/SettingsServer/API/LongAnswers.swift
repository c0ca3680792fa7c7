internal import Dispatch
internal import Synchronization

/// Where long answers are made: beside the loops, which have others to serve, one at a time, so that many of them do not take
/// all the memory.
final class LongAnswers: Sendable {
    /// So many may wait to be made; each takes some tens of milliseconds or more, and nobody waits for ever.
    static let most = 256

    private let queue = DispatchQueue(label: "settingsd.renderer", qos: .utility)
    private let count = Atomic(0)

    /// How many are being made or wait for that.
    var waiting: Int { count.load(ordering: .relaxed) }

    /// Whether nobody further should be promised one.
    var isFull: Bool { waiting >= Self.most }

    /// Has one made when those before are, if it is still wanted then.
    func make(_ wish: Wish?, _ work: @escaping @Sendable () -> Void) {
        count.add(1, ordering: .relaxed)
        queue.async {
            if wish?.isOpen ?? true { work() }
            self.count.subtract(1, ordering: .relaxed)
        }
    }

    /// That somebody waits for an answer.
    final class Wish: Sendable {
        private let hasEnded = Atomic(false)

        var isOpen: Bool { !hasEnded.load(ordering: .relaxed) }

        /// Whoever wanted it is gone.
        func end() {
            hasEnded.store(true, ordering: .relaxed)
        }
    }
}
