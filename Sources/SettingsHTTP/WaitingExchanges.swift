internal import Glibc
internal import SettingsModel

/// The exchanges that one thread drives, each with what it waits for.
struct WaitingExchanges {
    private struct Entry {
        let exchange: Exchange
        /// When it goes out; nil if it has.
        var start: ContinuousClock.Instant?
        let deadline: ContinuousClock.Instant
        let completion: AnswerReader.Completion
        var wait = Exchange.Wait()

        /// When something is to be done for it, whatever comes.
        var nextMoment: ContinuousClock.Instant {
            min(start ?? deadline, wait.until ?? deadline, deadline)
        }
    }

    private var entries: [UInt64: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// When the first of them goes out, goes on or is over.
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

    /// The exchange that is to go out now; nil if it has gone out.
    mutating func begin(_ id: UInt64) -> Exchange? {
        guard entries[id]?.start != nil else { return nil }
        entries[id]?.start = nil
        return entries[id]?.exchange
    }

    mutating func setWait(_ id: UInt64, _ wait: Exchange.Wait) {
        entries[id]?.wait = wait
    }

    /// Ends an exchange that is still there; its connection is closed by that, if nobody has kept it.
    mutating func finish(_ id: UInt64, _ result: (Exchange) -> Result<Reply, SettingsError>) {
        guard let (result, completion) = remove(id, result) else { return }
        completion(result)
    }

    /// Whoever is called afterwards finds the connection closed, whoever still holds the exchange.
    private mutating func remove(
        _ id: UInt64, _ result: (Exchange) -> Result<Reply, SettingsError>
    ) -> (Result<Reply, SettingsError>, AnswerReader.Completion)? {
        guard let entry = entries.removeValue(forKey: id) else { return nil }
        let result = result(entry.exchange)
        entry.exchange.close()
        return (result, entry.completion)
    }

    /// Waits until something happens or the time is over, and calls the body with each exchange that can go on or begin.
    /// Those whose own time is over are ended.
    mutating func wait(
        beside wake: Int32, until time: ContinuousClock.Instant,
        _ body: (inout WaitingExchanges, UInt64, Exchange) -> Void
    ) {
        var wanted = [pollfd(fd: wake, events: Int16(POLLIN), revents: 0)]
        var ids: [UInt64] = []
        // Those that wait without a descriptor are left out: the kernel takes no more entries than a program may have
        // descriptors.
        for (id, entry) in entries where entry.wait.descriptor >= 0 {
            wanted.append(pollfd(fd: entry.wait.descriptor, events: entry.wait.events, revents: 0))
            ids.append(id)
        }
        let count = poll(&wanted, nfds_t(wanted.count), WireBuffer.milliseconds(until: time))
        if count > 0 {
            for (index, id) in ids.enumerated() where wanted[index + 1].revents != 0 {
                guard let exchange = entries[id]?.exchange else { continue }
                body(&self, id, exchange)
            }
        }
        let now = ContinuousClock.now
        for id in entries.compactMap({ $1.nextMoment <= now ? $0 : nil }) {
            guard let entry = entries[id] else { continue }
            if entry.deadline <= now {
                finish(id) { .failure(.late(outcome: $0.outcome)) }
            } else if begin(id) != nil || entry.start == nil {
                body(&self, id, entry.exchange)
            }
        }
    }
}
