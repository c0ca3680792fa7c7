/// The commits of a daemon in order, and the settings after each commit.
struct Timeline {
    /// The settings before all commits and after each commit.
    private(set) var models: [Model]
    /// The revision of the commit that led to each model.
    private(set) var revisions: [Int64]

    init(from initial: Model) {
        models = [initial]
        revisions = [initial.settingValues.map(\.revision).max() ?? 0]
    }

    /// Adds a commit.
    mutating func append(_ values: [Int: Int64?], at revision: Int64) {
        models.append(models[models.count - 1].changed(values, at: revision))
        revisions.append(revision)
    }

    /// The index of the model after a commit; nil if there is no such commit.
    func position(of revision: Int64) -> Int? {
        revisions.dropFirst().firstIndex(of: revision)
    }
}

/// A check that a daemon which executes one call at a time could have given all answers.
///
/// The journal has the order of the commits, so the check does not search for an order. The check puts each call that
/// made no commit at the earliest position in this order where its answer is correct, after all calls that were
/// answered before the call was sent. A call that is sent after the answer cannot have a position before this position.
/// The earliest position therefore leaves the most positions for later calls.
struct HistoryCheck {
    private(set) var violations: [String] = []

    private let timeline: Timeline

    /// The lower bounds that answered calls set for later calls.
    private struct LowerBounds {
        /// The index of a model in the timeline.
        var position = 0
        /// The highest cursor of an answer.
        var cursor: Int64 = 0

        mutating func raise(to other: LowerBounds) {
            position = max(position, other.position)
            cursor = max(cursor, other.cursor)
        }
    }

    /// - Parameters:
    ///   - history: All calls; the calls of one client in the order of sending.
    ///   - timeline: The commits of the daemon.
    ///   - isPipelined: Whether calls of one client overlap and must take effect in order.
    init(_ history: [Call], _ timeline: Timeline, isPipelined: Bool = false) {
        self.timeline = timeline
        let callsInOrder = history.enumerated().sorted {
            ($0.element.invoked, $0.offset) < ($1.element.invoked, $1.offset)
        }
        var answers: [(at: UInt64, bounds: LowerBounds)] = []
        var (bounds, boundsOfClients) = (LowerBounds(), [Int: LowerBounds]())
        // The positions of the commits of answered writes.
        var acknowledgedPositions: Set<Int> = []
        // Each unanswered write with its lower bound: if the write led to a commit, the commit is after this position.
        var unanswered: [(call: Call, position: Int)] = []
        for (_, call) in callsInOrder {
            // Calls that were answered before this call was sent set lower bounds.
            answers.removeAll { answer in
                guard answer.at < call.invoked else { return false }
                bounds.raise(to: answer.bounds)
                return true
            }
            if call.isUnknown {
                if !call.isRead { unanswered.append((call, bounds.position)) }
                continue
            }
            if let commit = call.commit, commit <= bounds.cursor {
                violations.append(
                    "the commit is not after \(bounds.cursor), which an answer had shown before the call: \(call)")
            }
            var boundsOfCall = bounds
            // The cursors in the answers to one client never decrease, also if the calls of the client overlap.
            if let before = boundsOfClients[call.client] {
                boundsOfCall.cursor = max(boundsOfCall.cursor, before.cursor)
                if isPipelined { boundsOfCall.position = max(boundsOfCall.position, before.position) }
            }
            boundsOfCall = locate(call, after: boundsOfCall)
            if call.commit != nil, !acknowledgedPositions.insert(boundsOfCall.position).inserted {
                violations.append("another write has the same revision: \(call)")
            }
            boundsOfClients[call.client] = boundsOfCall
            answers.append((call.answered, boundsOfCall))
        }
        explainUnacknowledgedCommits(acknowledgedPositions, by: unanswered)
    }

    /// Returns the bounds after the call, and adds a violation if the answer is correct at no position.
    private mutating func locate(_ call: Call, after bounds: LowerBounds) -> LowerBounds {
        let cursor = call.cursor ?? .max
        if cursor < bounds.cursor {
            violations.append("the cursor is before \(bounds.cursor), which an answer had shown before: \(call)")
        }
        var positions = bounds.position..<timeline.models.count
        if let commit = call.commit {
            // A commit that does not exist gets the position 0, which leaves no position for the call.
            let position = timeline.position(of: commit) ?? 0
            positions = position > bounds.position ? position..<(position + 1) : 0..<0
        }
        let found = positions.first { timeline.revisions[$0] <= cursor && explains(call, $0) }
        if found == nil {
            violations.append(
                "the answer is wrong with the settings \(timeline.models[bounds.position]) and after later commits: "
                    + "\(call)")
        }
        return LowerBounds(position: found ?? bounds.position, cursor: max(bounds.cursor, call.cursor ?? 0))
    }

    /// True if the answer to a call is correct at a position.
    private func explains(_ call: Call, _ position: Int) -> Bool {
        let before = timeline.models[call.commit == nil ? position : position - 1]
        // `after` returns nil if the answer is wrong.
        return before.after(call) == timeline.models[position]
    }

    /// Assigns a different unanswered write to each commit that was not acknowledged. If a possible write already has a
    /// commit, searches for another write for that commit (an augmenting path).
    private mutating func explainUnacknowledgedCommits(
        _ acknowledgedPositions: Set<Int>, by unanswered: [(call: Call, position: Int)]
    ) {
        // The position of the commit to which each write is assigned.
        var positions: [Int: Int] = [:]
        /// Assigns a write to the commit at the position. Returns false if no write explains the commit.
        func assignWrite(to position: Int, _ tried: inout Set<Int>) -> Bool {
            for (number, write) in unanswered.enumerated() where write.position < position {
                guard
                    timeline.models[position - 1].after(lost: write.call, at: timeline.revisions[position])
                        == timeline.models[position], tried.insert(number).inserted
                else { continue }
                if let other = positions[number], !assignWrite(to: other, &tried) { continue }
                positions[number] = position
                return true
            }
            return false
        }
        for position in timeline.models.indices.dropFirst() where !acknowledgedPositions.contains(position) {
            var tried: Set<Int> = []
            if !assignWrite(to: position, &tried) {
                violations.append("no client wrote \(timeline.models[position]) at \(timeline.revisions[position])")
            }
        }
    }

    /// The first violations as a message.
    var summary: String {
        violations.prefix(5).joined(separator: "\n")
            + (violations.count > 5 ? "\n… and \(violations.count - 5) more" : "")
    }
}
