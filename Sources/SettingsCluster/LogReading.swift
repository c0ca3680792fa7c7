internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// The end of the commit log in etcd, and some of its batches (commits that share one flush), read in one transaction.
struct LogReading: Sendable {
    /// The head (identifying line) of the last batch in the log; nil if there is no log.
    var head: LogHead?
    var entries: [LogEntry] = []
    let header: EtcdHeader
}

/// Reads of the log, and the writes that create the log or begin an epoch (another history) in it.
extension EtcdClient {
    /// The time limit of reading a whole state. It is longer than the limit of other reads, because a state may be
    /// large.
    static let stateReadTimeout = Duration.seconds(300)

    /// Returns the batches with their commits: reads the parts of large batches, which are stored under separate keys.
    mutating func readParts(
        of entries: [LogEntry], _ keys: LogKeys, by deadline: Instant
    ) throws(EtcdError) -> [LogEntry] {
        var complete: [LogEntry] = []
        for entry in entries {
            guard entry.lacksParts else {
                complete.append(entry)
                continue
            }
            var parts: [[UInt8]] = []
            for number in 0..<entry.head.parts {
                let range = EtcdRange(key: keys.part(number, of: entry.head))
                let answer = try call(EtcdTransaction(success: [.range(range)]), isRepeatable: true, by: deadline)
                guard let part = answer.ranges[0].first?.value else {
                    // The outcome is not `noEffect`, because a `LogWriter` that determines the outcome of its own batch
                    // also reads parts. After `unknown`, the `LogWriter` tries again.
                    throw EtcdError(
                        outcome: .unknown, description: "a part of batch \(entry.head.batch) is missing in etcd")
                }
                parts.append(part)
            }
            complete.append(entry.withCommits(from: parts))
        }
        return complete
    }

    /// Reads the end of the log, and at most `limit` batches whose number is above `batch`.
    mutating func readLog(
        after batch: Int64, limit: Int = LogWriter.pageSize, _ keys: LogKeys, by deadline: Instant
    ) throws(EtcdError) -> LogReading {
        let reads: [EtcdTransaction.Operation] = [
            .range(EtcdRange(key: keys.head)),
            .range(EtcdRange(key: keys.batch(batch + 1), end: keys.batchesEnd, limit: limit)),
        ]
        let answer = try call(EtcdTransaction(success: reads), isRepeatable: true, by: deadline)
        guard let line = answer.ranges[0].first?.value else { return LogReading(header: answer.header) }
        do {
            let entries = try answer.ranges[1].map { try LogEntry($0.value) }
            return LogReading(
                head: try LogHead(line), entries: try readParts(of: entries, keys, by: deadline), header: answer.header)
        } catch let error as EtcdError {
            throw error
        } catch {
            throw EtcdError(outcome: .noEffect, description: "cannot read the log \(keys.batches): \(error)")
        }
    }

    /// Writes the first batch of a log. Changes nothing if a log exists.
    mutating func beginLog(_ entry: LogEntry, _ keys: LogKeys, by deadline: Instant) throws(EtcdError) {
        let transaction = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: keys.head)],
            success: [.put(keys.batch(entry.head.batch), entry.value), .put(keys.head, entry.head.line)])
        _ = try call(transaction, by: deadline)
    }

    /// Begins a new epoch, whose revisions are far above every revision that a daemon may have assigned. Changes
    /// nothing if the log no longer ends with the batch `end`.
    ///
    /// - Parameter revision: the last revision that the calling code knows.
    mutating func beginEpoch(
        _ epoch: Epoch, beyond revision: Revision, after end: LogHead, writer daemon: String, _ keys: LogKeys,
        by deadline: Instant
    ) throws(EtcdError) {
        guard let firstRevision = max(revision, end.revision).advanced(by: Recovery.epochRevisionGap) else {
            throw EtcdError(outcome: .noEffect, description: "cannot begin an epoch: the revisions are exhausted")
        }
        let head = end.next(to: firstRevision, bytes: 0, parts: 0, writer: daemon, beginning: epoch)
        let transaction = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: keys.head, value: end.line)],
            success: [.put(keys.batch(head.batch), LogEntry(head, lines: []).value), .put(keys.head, head.line)])
        _ = try call(transaction, by: deadline)
    }

    /// Reads the state: the last snapshot and the batches after the snapshot or, if there is no snapshot, all batches.
    /// Returns nil if there is no log.
    ///
    /// - Parameter directory: the directory for a temporary file with the snapshot.
    mutating func readState(
        _ keys: LogKeys, limits: History.Limits, in directory: DataDirectory, by deadline: Instant
    ) throws(EtcdError) -> LogInbox.LoadedState? {
        var state: State
        // The head of the last batch in the state; nil before the first batch.
        var last: LogHead?
        if let snapshot = try readSnapshotPointer(keys, by: deadline) {
            state = try readSnapshot(snapshot, keys, limits: limits, in: directory, by: deadline)
            last = snapshot.head
        } else {
            // The epoch is a placeholder: the first batch of the log begins the epoch of the log.
            guard let none = Epoch("none") else { return nil }
            state = State(epoch: none, limits: limits)
        }
        while true {
            let found = try readLog(after: last?.batch ?? LogHead.firstBatch - 1, keys, by: deadline)
            guard let end = found.head else { return nil }
            for entry in found.entries {
                do throws(LogDamage) {
                    guard entry.head.batch == (last?.batch ?? LogHead.firstBatch - 1) + 1,
                        entry.head.previous == last?.id ?? ""
                    else { throw LogDamage("the batch does not follow the previous batch") }
                    try entry.apply(to: &state)
                } catch {
                    throw EtcdError(
                        outcome: .noEffect,
                        description: "cannot apply batch \(entry.head.batch) of \(keys.batches): \(error)")
                }
                last = entry.head
            }
            if let last, last.batch >= end.batch { return LogInbox.LoadedState(state: state, head: last) }
            guard !found.entries.isEmpty else {
                throw EtcdError(
                    outcome: .noEffect,
                    description: "batch \((last?.batch ?? LogHead.firstBatch - 1) + 1) of \(keys.batches) is missing")
            }
        }
    }
}

/// Methods that read the state with which a daemon starts.
extension EtcdClient {
    /// Applies the later batches of the log to a state. If the log is in another epoch or no longer has the next batch,
    /// reads the whole state from etcd instead. Throws if the log ends before the state.
    mutating func catchUp(
        from start: LogInbox.LoadedState, _ keys: LogKeys, limits: History.Limits, in directory: DataDirectory,
        by deadline: Instant
    ) throws(EtcdError) -> LogInbox.LoadedState {
        var (state, last) = (start.state, start.head)
        while true {
            let found = try readLog(after: last.batch, keys, by: deadline)
            guard let end = found.head else {
                throw EtcdError(outcome: .noEffect, description: "there is no log: the key \(keys.head) is missing")
            }
            let first = found.entries.first?.head
            let isGap = first.map { $0.batch > last.batch + 1 } ?? false
            // The log is in another epoch, and neither ends with the last batch in the state nor continues from it.
            let isOtherHistory = end.epoch != last.epoch && first?.previous != last.id && end.line != last.line
            if isGap || isOtherHistory,
                let state = try readState(keys, limits: limits, in: directory, by: .now + Self.stateReadTimeout)
            {
                return state
            }
            for entry in found.entries {
                do throws(LogDamage) {
                    guard entry.head.batch == last.batch + 1, entry.head.previous == last.id else {
                        throw LogDamage("the batch does not follow batch \(last.batch)")
                    }
                    try entry.apply(to: &state)
                } catch {
                    throw EtcdError(
                        outcome: .noEffect,
                        description: "cannot apply batch \(entry.head.batch) of \(keys.batches): \(error)")
                }
                last = entry.head
            }
            if last.line == end.line { return LogInbox.LoadedState(state: state, head: last) }
            guard !found.entries.isEmpty else {
                throw EtcdError(
                    outcome: .noEffect,
                    description: "the log in etcd has no batch after batch \(last.batch), but ends with another batch "
                        + "(number \(end.batch))")
            }
        }
    }

    /// Reads the state. If there is no log, creates a log first. Retries until a read succeeds. The second element of
    /// the result is the time at which the successful read began.
    mutating func loadOrCreateLog(
        _ keys: LogKeys, daemon: String, limits: History.Limits, in directory: DataDirectory, _ log: Log
    ) -> (LogInbox.LoadedState, Instant) {
        var lastMessage = ""
        while true {
            do throws(EtcdError) {
                let readStart = Instant.now
                let deadline = readStart + Self.stateReadTimeout
                if let state = try readState(keys, limits: limits, in: directory, by: deadline) {
                    return (state, readStart)
                }
                let first = LogHead.beginning(Epoch.random(), writer: daemon)
                log.info("there is no log in etcd yet; creating the log with the key \(keys.head)")
                try beginLog(LogEntry(first, lines: []), keys, by: deadline)
            } catch {
                if error.description != lastMessage {
                    log.warning(
                        "cannot read the log in etcd: \(error); the data directory contains no copy of the settings, "
                            + "so the daemon waits until etcd answers")
                }
                lastMessage = error.description
                // With the descriptor -1, the call waits only for the time.
                _ = PollSet.wait(for: .readable, on: -1, until: .now + .milliseconds(500))
            }
        }
    }
}
