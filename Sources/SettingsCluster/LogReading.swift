internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// The end of the log and some of its batches, read in one transaction.
struct LogReading: Sendable {
    /// The head of the last batch; nil if there is no log.
    var head: LogHead?
    var entries: [LogEntry] = []
    let header: EtcdHeader
}

/// Reads of the log, and the writes that create it or begin an epoch.
extension EtcdClient {
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
                    throw EtcdError(
                        outcome: .unknown, description: "a part of batch \(entry.head.batch) is missing in etcd")
                }
                parts.append(part)
            }
            complete.append(entry.withCommits(from: parts))
        }
        return complete
    }

    /// Reads the end of the log, and the batches after the number `batch`, at most `limit` of them.
    mutating func readLog(
        after batch: Int64, limit: Int = LogWriter.pageSize, _ keys: LogKeys, by deadline: Instant
    ) throws(EtcdError) -> LogReading {
        let reads: [EtcdTransaction.Operation] = [
            .range(EtcdRange(key: keys.head)),
            .range(EtcdRange(key: keys.batch(batch + 1), end: keys.logEnd, limit: limit)),
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
            throw EtcdError(outcome: .refused, description: "cannot read the log \(keys.log): \(error)")
        }
    }

    /// Writes the first batch of a log. Does nothing if a log exists.
    mutating func beginLog(_ entry: LogEntry, _ keys: LogKeys, by deadline: Instant) throws(EtcdError) {
        let transaction = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: keys.head)],
            success: [.put(keys.batch(entry.head.batch), entry.value), .put(keys.head, entry.head.line)])
        _ = try call(transaction, by: deadline)
    }

    /// Begins a new epoch far beyond every revision that a daemon may have assigned, if the log still ends at `end`.
    mutating func beginEpoch(
        _ epoch: Epoch, beyond revision: Revision, after end: LogHead, by daemon: String, _ keys: LogKeys,
        by deadline: Instant
    ) throws(EtcdError) {
        guard let first = max(revision, end.revision).advanced(by: Recovery.epochRevisionGap) else {
            throw EtcdError(outcome: .refused, description: "cannot begin an epoch: the revisions are exhausted")
        }
        let head = end.next(to: first, bytes: 0, parts: 0, by: daemon, beginning: epoch)
        let transaction = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: keys.head, value: end.line)],
            success: [.put(keys.batch(head.batch), LogEntry(head, lines: []).value), .put(keys.head, head.line)])
        _ = try call(transaction, by: deadline)
    }

    /// Reads the last snapshot and the batches after it, or all batches without a snapshot; nil if there is no log.
    ///
    /// - Parameter directory: the directory for a temporary file with the snapshot.
    mutating func readState(
        _ keys: LogKeys, limits: History.Limits, in directory: DataDirectory, by deadline: Instant
    ) throws(EtcdError) -> LogInbox.LoadedState? {
        var state: State
        var last: LogHead?
        if let snapshot = try readSnapshotPointer(keys, by: deadline) {
            state = try readSnapshot(snapshot, keys, limits: limits, in: directory, by: deadline)
            last = snapshot.head
        } else {
            // A placeholder: the first batch of the log begins its epoch.
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
                        outcome: .refused,
                        description: "cannot apply batch \(entry.head.batch) of \(keys.log): \(error)")
                }
                last = entry.head
            }
            if let last, last.batch >= end.batch { return LogInbox.LoadedState(state: state, head: last) }
            guard !found.entries.isEmpty else {
                throw EtcdError(
                    outcome: .refused,
                    description: "batch \((last?.batch ?? LogHead.firstBatch - 1) + 1) of \(keys.log) is missing")
            }
        }
    }
}

/// The state with which a daemon starts.
extension EtcdClient {
    /// Applies the batches after a state. Reads the whole state from etcd if the log has another epoch, or no longer
    /// has the batches after the state. Throws if the log ends before the state.
    mutating func catchUp(
        from start: LogInbox.LoadedState, _ keys: LogKeys, limits: History.Limits, in directory: DataDirectory,
        by deadline: Instant
    ) throws(EtcdError) -> LogInbox.LoadedState {
        var (state, last) = (start.state, start.head)
        while true {
            let found = try readLog(after: last.batch, keys, by: deadline)
            guard let end = found.head else {
                throw EtcdError(outcome: .refused, description: "there is no log: the key \(keys.head) is missing")
            }
            let first = found.entries.first?.head
            let isGap = first.map { $0.batch > last.batch + 1 } ?? false
            let isOtherHistory = end.epoch != last.epoch && first?.previous != last.id && end.line != last.line
            if isGap || isOtherHistory,
                let state = try readState(keys, limits: limits, in: directory, by: .now + .seconds(300))
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
                        outcome: .refused,
                        description: "cannot apply batch \(entry.head.batch) of \(keys.log): \(error)")
                }
                last = entry.head
            }
            if last.line == end.line { return LogInbox.LoadedState(state: state, head: last) }
            guard !found.entries.isEmpty else {
                throw EtcdError(outcome: .refused, description: "the log in etcd does not continue batch \(last.batch)")
            }
        }
    }

    /// Reads the state, or creates a log if there is none. Retries until it succeeds. Also returns when the read began.
    mutating func loadOrCreateLog(
        _ keys: LogKeys, daemon: String, limits: History.Limits, in directory: DataDirectory, _ log: Log
    ) -> (LogInbox.LoadedState, Instant) {
        var lastMessage = ""
        while true {
            do throws(EtcdError) {
                let readStart = Instant.now
                let deadline = readStart + .seconds(300)
                if let state = try readState(keys, limits: limits, in: directory, by: deadline) {
                    return (state, readStart)
                }
                let first = LogHead.beginning(Epoch.random(), by: daemon)
                log.info("there is no log in etcd yet; creating the log with the key \(keys.head)")
                try beginLog(LogEntry(first, lines: []), keys, by: deadline)
            } catch {
                if error.description != lastMessage {
                    log.warning("waiting for etcd, because the data directory contains no copy of the log: \(error)")
                }
                lastMessage = error.description
                _ = PollSet.wait(for: .readable, on: -1, until: .now + .milliseconds(500))
            }
        }
    }
}
