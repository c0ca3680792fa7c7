internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// The end of the log and some of its batches, as they were at one moment.
struct LogReading: Sendable {
    /// The end; nil if there is no log.
    var head: LogHead?
    var entries: [LogEntry] = []
    let header: EtcdHeader
}

/// Reading the log.
extension EtcdClient {
    /// Reads the parts of batches that have some.
    mutating func complete(
        _ entries: [LogEntry], _ keys: LogKeys, by deadline: Instant
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
            complete.append(entry.with(parts: parts))
        }
        return complete
    }

    /// Reads the end of the log and the next batches behind one.
    mutating func readLog(
        behind batch: Int64, limit: Int = LogWriter.page, _ keys: LogKeys, by deadline: Instant
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
                head: try LogHead(line), entries: try complete(entries, keys, by: deadline), header: answer.header)
        } catch let error as EtcdError {
            throw error
        } catch {
            throw EtcdError(outcome: .refused, description: "cannot read the log \(keys.log): \(error)")
        }
    }

    /// Writes the first batch of a log, on the condition that there is none. Throws unless it is there or another is.
    mutating func beginLog(_ entry: LogEntry, _ keys: LogKeys, by deadline: Instant) throws(EtcdError) {
        let transaction = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: keys.head)],
            success: [.put(keys.batch(entry.head.batch), entry.value), .put(keys.head, entry.head.line)])
        _ = try call(transaction, by: deadline)
    }

    /// Begins a new epoch behind the end of the log, far enough from every revision that a daemon knows of. Does nothing if
    /// the log has another end meanwhile.
    mutating func beginEpoch(
        _ epoch: Epoch, beyond revision: Revision, behind end: LogHead, by daemon: String, _ keys: LogKeys,
        by deadline: Instant
    ) throws(EtcdError) {
        guard let first = max(revision, end.revision).advanced(by: Recovery.epochRevisionGap) else {
            throw EtcdError(outcome: .refused, description: "there are no revisions left")
        }
        let head = end.next(to: first, bytes: 0, parts: 0, by: daemon, beginning: epoch)
        let transaction = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: keys.head, value: end.line)],
            success: [.put(keys.batch(head.batch), LogEntry(head, lines: []).value), .put(keys.head, head.line)])
        _ = try call(transaction, by: deadline)
    }

    /// Reads the state that the log ends with, from its snapshot or its beginning on. Returns nil if there is no log.
    ///
    /// - Parameter directory: where the snapshot is kept while it is read.
    mutating func readState(
        _ keys: LogKeys, limits: History.Limits, in directory: DataDirectory, by deadline: Instant
    ) throws(EtcdError) -> LogInbox.Replacement? {
        var state: State
        var place: LogHead?
        if let snapshot = try readSnapshotPointer(keys, by: deadline) {
            state = try readSnapshot(snapshot, keys, limits: limits, in: directory, by: deadline)
            place = snapshot.head
        } else {
            // The epoch is that of the first batch.
            guard let none = Epoch("none") else { return nil }
            state = State(epoch: none, limits: limits)
        }
        while true {
            let found = try readLog(behind: place?.batch ?? LogHead.first - 1, keys, by: deadline)
            guard let end = found.head else { return nil }
            for entry in found.entries {
                do throws(LogDamage) {
                    guard entry.head.batch == (place?.batch ?? LogHead.first - 1) + 1,
                        entry.head.previous == place?.id ?? ""
                    else { throw LogDamage("it does not follow from the one before") }
                    try entry.apply(to: &state)
                } catch {
                    throw EtcdError(
                        outcome: .refused,
                        description: "cannot apply batch \(entry.head.batch) of \(keys.log): \(error)")
                }
                place = entry.head
            }
            if let place, place.batch >= end.batch { return LogInbox.Replacement(state: state, head: place) }
            guard !found.entries.isEmpty else {
                throw EtcdError(
                    outcome: .refused,
                    description: "batch \((place?.batch ?? LogHead.first - 1) + 1) of \(keys.log) is missing")
            }
        }
    }
}

/// What a daemon starts with.
extension EtcdClient {
    /// Applies the batches behind a state. Reads all anew if the log is another, or has batches only further on. Throws if
    /// the log is behind that state.
    mutating func goOn(
        from start: LogInbox.Replacement, _ keys: LogKeys, limits: History.Limits, in directory: DataDirectory,
        by deadline: Instant
    ) throws(EtcdError) -> LogInbox.Replacement {
        var (state, place) = (start.state, start.head)
        while true {
            let found = try readLog(behind: place.batch, keys, by: deadline)
            guard let end = found.head else {
                throw EtcdError(outcome: .refused, description: "there is no log: the key \(keys.head) is missing")
            }
            let first = found.entries.first?.head
            let isGap = first.map { $0.batch > place.batch + 1 } ?? false
            let isOther = end.epoch != place.epoch && first?.previous != place.id && end.line != place.line
            if isGap || isOther,
                let state = try readState(keys, limits: limits, in: directory, by: .now + .seconds(300))
            {
                return state
            }
            for entry in found.entries {
                do throws(LogDamage) {
                    guard entry.head.batch == place.batch + 1, entry.head.previous == place.id else {
                        throw LogDamage("it does not follow from batch \(place.batch)")
                    }
                    try entry.apply(to: &state)
                } catch {
                    throw EtcdError(
                        outcome: .refused,
                        description: "cannot apply batch \(entry.head.batch) of \(keys.log): \(error)")
                }
                place = entry.head
            }
            if place.line == end.line { return LogInbox.Replacement(state: state, head: place) }
            guard !found.entries.isEmpty else {
                throw EtcdError(outcome: .refused, description: "the log does not go on from batch \(place.batch)")
            }
        }
    }

    /// Reads the state from etcd, or begins a log. Waits until that is done.
    mutating func firstState(
        _ keys: LogKeys, daemon: String, limits: History.Limits, in directory: DataDirectory, _ log: Log
    ) -> (LogInbox.Replacement, Instant) {
        var last = ""
        while true {
            do throws(EtcdError) {
                let moment = Instant.now
                let deadline = moment + .seconds(300)
                if let state = try readState(keys, limits: limits, in: directory, by: deadline) {
                    return (state, moment)
                }
                let first = LogHead.beginning(Epoch.random(), by: daemon)
                log.info("there is no log in etcd yet; beginning one at \(keys.head)")
                try beginLog(LogEntry(first, lines: []), keys, by: deadline)
            } catch {
                if error.description != last {
                    log.warning("waiting for etcd, as the data directory has no copy of its log: \(error)")
                }
                last = error.description
                _ = PollSet.wait(for: .readable, on: -1, until: .now + .milliseconds(500))
            }
        }
    }
}
