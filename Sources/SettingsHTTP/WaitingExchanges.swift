internal import Platform
internal import Synchronization

/// The exchanges that the thread of an `AnswerReader` advances, each with the event that it waits for.
struct WaitingExchanges {
    private struct Entry {
        let exchange: Exchange
        /// The moment at which the request will be sent. Nil if the exchange was advanced, or will be advanced at once.
        var start: ContinuousClock.Instant?
        let deadline: ContinuousClock.Instant
        let completion: AnswerReader.Completion
        var wait = Exchange.Wait()

        /// The moment at which the exchange must be advanced or ended, even without an event.
        var nextMoment: ContinuousClock.Instant {
            min(start ?? deadline, wait.until ?? deadline, deadline)
        }
    }

    private var entries: [UInt64: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// The first moment at which an exchange must be advanced or ended. Nil if there are no exchanges.
    var nextMoment: ContinuousClock.Instant? { entries.values.lazy.map(\.nextMoment).min() }

    func exchange(_ id: UInt64) -> Exchange? {
        entries[id]?.exchange
    }

    mutating func add(
        _ id: UInt64, _ exchange: Exchange, _ span: AnswerReader.TimeSpan,
        _ completion: @escaping AnswerReader.Completion
    ) {
        entries[id] = Entry(exchange: exchange, start: span.start, deadline: span.deadline, completion: completion)
    }

    /// Removes the planned start time of a request, because the calling code now sends the request. Returns the exchange, or nil if
    /// the request has no start or has ended.
    mutating func removeStart(of id: UInt64) -> Exchange? {
        guard entries[id]?.start != nil else { return nil }
        entries[id]?.start = nil
        return entries[id]?.exchange
    }

    mutating func setWait(_ id: UInt64, _ wait: Exchange.Wait) {
        entries[id]?.wait = wait
    }

    /// Ends an exchange, and calls its completion with the result. Does nothing if the exchange has ended before.
    mutating func complete(_ id: UInt64, _ result: (Exchange) -> Result<Reply, SettingsError>) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        let result = result(entry.exchange)
        entry.exchange.close()
        entry.completion(result)
    }

    /// Waits until an event occurs or the given time is reached. Then calls the body with each exchange that can be
    /// advanced, and ends the exchanges whose deadlines have passed.
    ///
    /// - Parameter waker: a descriptor that ends the wait when it becomes readable (see ``Waker``).
    mutating func wait(
        beside waker: Int32, until time: ContinuousClock.Instant,
        _ body: (inout WaitingExchanges, UInt64, Exchange) -> Void
    ) {
        var ready = PollSet()
        ready.add(waker, .readable)
        var ids: [UInt64] = []
        // The set contains only exchanges that wait for a descriptor, because the system call `poll` fails if it gets
        // more entries than the process may have descriptors.
        for (id, entry) in entries where entry.wait.descriptor >= 0 {
            ready.add(entry.wait.descriptor, entry.wait.events)
            ids.append(id)
        }
        if ready.wait(until: time) {
            // The waker has position 0 in the set.
            for (index, id) in ids.enumerated() where ready.isReady(index + 1) {
                if let exchange = entries[id]?.exchange { body(&self, id, exchange) }
            }
        }
        let now = ContinuousClock.now
        for id in entries.compactMap({ $1.nextMoment <= now ? $0 : nil }) {
            guard let entry = entries[id] else { continue }
            if entry.deadline <= now {
                complete(id) { .failure($0.deadlineError) }
            } else {
                entries[id]?.start = nil
                body(&self, id, entry.exchange)
            }
        }
    }
}
