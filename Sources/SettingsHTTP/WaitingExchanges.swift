internal import Platform
internal import Synchronization

/// The exchanges that one thread drives, each with what it waits for.
struct WaitingExchanges {
    private struct Entry {
        let exchange: Exchange
        /// When it goes out; nil if it has.
        var start: ContinuousClock.Instant?
        let deadline: ContinuousClock.Instant
        let completion: AnswerReader.Completion
        var wait = Exchange.Wait()

        /// When the exchange must continue, even if no descriptor is ready.
        var nextMoment: ContinuousClock.Instant {
            min(start ?? deadline, wait.until ?? deadline, deadline)
        }
    }

    private var entries: [UInt64: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// The earliest moment at which an exchange must continue.
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

    /// Returns the exchange that is to go out now; nil if it has gone out.
    mutating func begin(_ id: UInt64) -> Exchange? {
        guard entries[id]?.start != nil else { return nil }
        entries[id]?.start = nil
        return entries[id]?.exchange
    }

    mutating func setWait(_ id: UInt64, _ wait: Exchange.Wait) {
        entries[id]?.wait = wait
    }

    /// Ends an exchange that is still there. Closes its connection, unless the pool has it, then calls its completion.
    mutating func complete(_ id: UInt64, _ result: (Exchange) -> Result<Reply, SettingsError>) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        let result = result(entry.exchange)
        entry.exchange.close()
        entry.completion(result)
    }

    /// Waits until something happens or the time is over, and calls the body with each exchange that can go on or begin.
    /// Ends those whose deadline has come.
    mutating func wait(
        beside waker: Int32, until time: ContinuousClock.Instant,
        _ body: (inout WaitingExchanges, UInt64, Exchange) -> Void
    ) {
        var ready = PollSet()
        ready.add(waker, .readable)
        var ids: [UInt64] = []
        // The kernel takes no more entries than a program may have descriptors, so those without one are left out.
        for (id, entry) in entries where entry.wait.descriptor >= 0 {
            ready.add(entry.wait.descriptor, entry.wait.events)
            ids.append(id)
        }
        if ready.wait(until: time) {
            for (index, id) in ids.enumerated() where ready.isReady(index + 1) {
                if let exchange = entries[id]?.exchange { body(&self, id, exchange) }
            }
        }
        let now = ContinuousClock.now
        for id in entries.compactMap({ $1.nextMoment <= now ? $0 : nil }) {
            guard let entry = entries[id] else { continue }
            if entry.deadline <= now {
                complete(id) { .failure($0.deadlineError) }
            } else if begin(id) != nil || entry.start == nil {
                body(&self, id, entry.exchange)
            }
        }
    }
}
