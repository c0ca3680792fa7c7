/// What becomes of settings, from the moment on when this was asked for until nobody listens.
///
/// It is for one loop: updates are given once, to the first iterator. It ends when the task is cancelled or the iterator
/// is dropped, and what it needed is freed. A loop that falls behind is told everything as long as no more than about
/// a thousand changes wait for it; beyond that, of each key the newest.
public struct DefaultsUpdates<Update: Sendable>: AsyncSequence, Sendable {
    /// An update.
    public typealias Element = Update
    /// Nothing: what is no value of its key is reported and passed over.
    public typealias Failure = Never

    private let end: StreamEnd<Update>

    init(_ stream: UpdateStream<Update>) {
        end = StreamEnd(stream)
    }

    /// Begins to listen. Any but the first iterator is at its end.
    public func makeAsyncIterator() -> Iterator {
        Iterator(end.stream.claim() ? end : nil)
    }

    /// One who listens.
    public struct Iterator: AsyncIteratorProtocol {
        /// Kept so that the sequence does not end the stream when it goes first.
        private let sequence: StreamEnd<Update>?
        private let own: StreamEnd<Update>?
        /// What the last change came to, but for what was given: several updates if several keys share a name.
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
