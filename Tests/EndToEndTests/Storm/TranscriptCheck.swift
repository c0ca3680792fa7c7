import SettingsAPI
import SettingsModel

/// A check of the answers to one watcher in a `Storm` (a test that kills the daemon while clients write and watch)
/// against all commits.
///
/// The watcher must receive each commit that concerns it once, completely, in order and unchanged, unless it receives a
/// reset with the current state. An answer without changes must not come before the end of the wait.
struct TranscriptCheck {
    let record: StormRecord
    let transcript: Transcript
    /// The violations, each with the step that shows it.
    private(set) var violations: [(step: Int, text: String)] = []
    /// The number of answers of each kind.
    private(set) var tally: [String: Int] = [:]

    /// The commits that the watcher must receive, with their watched changes.
    let watchedCommits: [WatchedCommit]
    var watcher: WatcherState
    /// The state to which the watcher can return.
    private var savedWatcher: WatcherState?
    /// The highest cursor so far.
    private var highestCursor = Revision.zero
    /// The time of the last received content.
    private var lastReceived: UInt64 = 0
    /// The index of the checked step.
    private var step = 0
    /// True if the last event of the stream reported the suite as missing. A keep-alive is not an event.
    var isMissing = false

    /// A commit with its watched changes.
    struct WatchedCommit {
        let commit: Commit
        let changes: [Change]
    }

    /// The cursor and the received values of the watcher, and a model with the correct values.
    struct WatcherState {
        var cursor: Revision?
        /// The values according to the answers.
        var receivedValues: [SuiteName: [KeyName: JSONValue]] = [:]
        var model: WatchedModel
        /// The number of watched commits that the model includes.
        var position = 0
    }

    /// - Parameter isComplete: Whether the watcher read all remaining changes after the storm.
    init(_ transcript: Transcript, _ record: StormRecord, isComplete: Bool = true) {
        self.transcript = transcript
        self.record = record
        let watched = transcript.watched
        watchedCommits = record.journal.commits.filter(watched.concerns).map {
            WatchedCommit(commit: $0, changes: watched.changes(of: $0))
        }
        watcher = WatcherState(model: WatchedModel(watched))
        for (number, next) in transcript.steps.enumerated() {
            step = number
            switch next {
            case .received(let received): check(received)
            case .savedState: savedWatcher = watcher
            case .returnedToSavedState: savedWatcher.map { watcher = $0 }
            case .discardedState: (watcher.cursor, watcher.receivedValues) = (nil, [:])
            }
        }
        if isComplete, highestCursor < record.journal.lastRevision {
            recordViolation(
                "the transcript ends at \(highestCursor), before the last commit \(record.journal.lastRevision)")
        }
    }

    private mutating func check(_ received: Received) {
        let request = received.request
        tally[received.content.kind, default: 0] += 1
        switch received.content {
        case .state(let state): check(state, received)
        case .changes(let changes): check(changes, received)
        case .commit(let commit): check(commit, received)
        case .cursorOnly(let cursor, let isLast): check(cursorOnly: cursor, isLast: isLast, received)
        case .absent(let cursor):
            check(absentAt: cursor, received)
            if received.request.waitsForSuite { checkWaitDuration(received) }
        case .missing(let cursor):
            check(absentAt: cursor, received)
            watcher.receivedValues = [:]
            advanceAndCompare(to: cursor.revision)
        case .ended:
            if !request.isHalfClosed && !isStopping(received) {
                recordViolation("the stream ended while the daemon was running")
            }
        case .refused:
            if !isStopping(received) { recordViolation("the request was refused although the daemon was not stopping") }
        case .disconnected: checkDisconnection(received)
        case .lost: checkLoss(received)
        case .disconnectedMidAnswer: break
        case .noAnswer: recordViolation("no answer arrived long after the end of the wait")
        case .unexpected(let text): recordViolation(text)
        }
        lastReceived = received.at
        isMissing = if case .missing = received.content { true } else { isMissing && received.content.isCursorOnly }
    }

    mutating func recordViolation(_ text: String) {
        violations.append((step, text))
    }

    mutating func count(_ kind: String) {
        tally[kind, default: 0] += 1
    }

    /// True if the daemon was asked to stop before the answer arrived.
    func isStopping(_ received: Received) -> Bool {
        guard received.request.life < record.lives.count else { return false }
        let life = record.lives[received.request.life]
        return !life.isKilled && received.at >= life.endedAt
    }
}

/// Cursors.
extension TranscriptCheck {
    /// Checks a received cursor, which must not be before the cursor `previous`. Returns false if the content cannot be
    /// checked at this cursor.
    ///
    /// - Parameter showsPresentState: Whether the content shows the state of the daemon at the time of the answer. The
    ///   cursor must then not be before any cursor that the watcher has received.
    mutating func checkCursor(
        _ cursor: Cursor, _ received: Received, from previous: Revision, showsPresentState: Bool
    ) -> Bool {
        guard cursor.epoch == record.journal.epoch else {
            recordViolation("the cursor \(cursor) is of another epoch than \(record.journal.epoch)")
            return false
        }
        guard cursor.revision >= previous else {
            recordViolation("the cursor goes back from \(previous) to \(cursor.revision)")
            return false
        }
        if showsPresentState, cursor.revision < highestCursor {
            recordViolation("the cursor \(cursor.revision) is before \(highestCursor), which the watcher has received")
            return false
        }
        if received.request.life < record.lives.count, cursor.revision > record.lives[received.request.life].last {
            recordViolation(
                "the cursor \(cursor.revision) is ahead of all commits of life \(received.request.life) of the daemon")
            return false
        }
        highestCursor = max(highestCursor, cursor.revision)
        return true
    }

    /// The commits after the model's last commit, up to and including a revision.
    func expected(upTo revision: Revision) -> ArraySlice<WatchedCommit> {
        let rest = watchedCommits[watcher.position...]
        return rest.prefix { $0.commit.revision <= revision }
    }

    /// Advances the model to a revision.
    mutating func advance(to revision: Revision) {
        for watchedCommit in expected(upTo: revision) {
            if let fault = watcher.model.apply(watchedCommit.commit) {
                recordViolation("the journal is inconsistent: \(fault)")
            }
            watcher.position += 1
        }
    }

    /// Advances the model and the watcher's cursor to a revision, and compares the watcher's values with the model.
    mutating func advanceAndCompare(to revision: Revision) {
        advance(to: revision)
        watcher.cursor = revision
        let expected = watcher.model.suites.mapValues(\.values).filter { !$0.value.isEmpty }
        let received = watcher.receivedValues.filter { !$0.value.isEmpty }
        if expected != received { recordViolation("at \(revision) the watcher has \(received) instead of \(expected)") }
    }

    /// Applies changes to the watcher's values. The old value of each change must match the watcher's value.
    mutating func applyToReceivedValues(_ changes: [Change]) {
        for change in changes {
            let before = watcher.receivedValues[change.suite]?[change.key]
            if before != change.old { recordViolation("the watcher does not have the old value of \(change.brief)") }
            watcher.receivedValues[change.suite, default: [:]][change.key] = change.new
        }
    }
}

/// The checks of the times of answers, of ended connections and of cursors without events, and the report.
extension TranscriptCheck {
    /// An answer without changes must not come before the end of the wait.
    mutating func checkWaitDuration(_ received: Received) {
        let took = received.at &- received.request.at
        // The daemon does not let a half-closed request wait, but answers it soon.
        guard !received.request.isHalfClosed else {
            if took > Patience.maximumDelivery {
                recordViolation("the half-closed request was answered after \(took / 1_000_000) ms")
            }
            return
        }
        guard took < received.request.shortestWait, !isStopping(received) else { return }
        recordViolation(
            "an answer without changes arrived after \(took / 1_000_000) ms of a wait of \(received.request.wait) s")
    }

    /// A commit must reach its watchers within the limit on delivery. A reader that is behind receives one event after
    /// another, so the limit starts at the previous event.
    mutating func checkDelay(of watchedCommit: WatchedCommit, _ received: Received) {
        guard !received.request.isSlow, let acknowledged = record.acknowledged[watchedCommit.commit.revision] else {
            return
        }
        let since = max(acknowledged, received.request.at, lastReceived)
        guard received.at > since, received.at - since > Patience.maximumDelivery else { return }
        let milliseconds = (received.at - since) / 1_000_000
        recordViolation(
            "the commit \(watchedCommit.commit.revision) was not delivered in time, but after \(milliseconds) ms")
    }

    private mutating func checkDisconnection(_ received: Received) {
        // The next commit must have arrived in time, unless a reset may replace it.
        guard let cursor = watcher.cursor, !record.mayBeEvicted(cursor, at: record.journal.lastRevision) else { return }
        if let next = watchedCommits[watcher.position...].first { checkDelay(of: next, received) }
    }

    private mutating func checkLoss(_ received: Received) {
        // Nil for the last life of the daemon, which the record lacks.
        let life = received.request.life < record.lives.count ? record.lives[received.request.life] : nil
        guard !received.request.isSlow else {
            if life.map({ received.at < $0.endedAt }) ?? true { count("slow readers disconnected by the daemon") }
            return
        }
        guard let life else { return }
        if received.at < life.endedAt {
            if case .stream = received.request.kind, waitingBytes(received) > 1 << 20 {
                // The daemon may have disconnected the reader, because a reader that checks each event can fall behind.
                count("readers behind disconnected by the daemon")
            } else {
                recordViolation("the connection was lost while the daemon was running")
            }
        }
        // A request that was sent at least a second before the daemon was asked to stop gets an answer.
        if !life.isKilled, received.request.at + 1_000_000_000 < life.endedAt {
            recordViolation("the daemon stopped without an answer to the request")
        }
    }

    /// The number of bytes of the old and new values in the watched changes that the daemon had acknowledged to writers
    /// before the connection was lost, and that the reader has not read.
    private func waitingBytes(_ received: Received) -> Int {
        watchedCommits[watcher.position...].reduce(0) { bytes, next in
            guard let acknowledged = record.acknowledged[next.commit.revision], acknowledged < received.at else {
                return bytes
            }
            return next.changes.reduce(bytes) {
                $0 + ($1.old?.jsonText().utf8.count ?? 0) + ($1.new?.jsonText().utf8.count ?? 0)
            }
        }
    }

    mutating func check(cursorOnly cursor: Cursor, isLast: Bool, _ received: Received) {
        guard let cursorBefore = watcher.cursor else { return recordViolation("a cursor arrived before any state") }
        guard checkCursor(cursor, received, from: cursorBefore, showsPresentState: false) else { return }
        let missed = expected(upTo: cursor.revision)
        var model = watcher.model
        for watchedCommit in missed { model.apply(watchedCommit.commit) }
        // A stream that waits for its suite receives the suite when it exists. The stream does not receive a suite that
        // was created and dropped in the meantime.
        if !isMissing || !model.suites.isEmpty {
            for missed in missed {
                recordViolation(
                    "\(cursor) passes over the commit \(missed.commit.revision), which the watcher did not receive")
            }
        }
        // The daemon sends a keep-alive after 15 s without an event. The end of a stream also has a cursor.
        if !isLast, !received.request.isSlow, received.at - max(lastReceived, received.request.at) < 14_000_000_000 {
            recordViolation("a keep-alive arrived on a stream that had not been silent")
        }
        advanceAndCompare(to: cursor.revision)
    }

    /// The first five violations, with the seed, and with up to `stepCount` steps that end with the first violation.
    func report(seed: UInt64, stepCount: Int = 12) -> String {
        let first = violations.first?.step ?? 0
        let steps = transcript.steps[..<min(first + 1, transcript.steps.count)].suffix(stepCount).map {
            "\n    \($0.brief)"
        }
        let faults = violations.prefix(5).map { "\n  step \($0.step): \($0.text)" }
        return "seed \(seed), watcher \(transcript.number), \(transcript.watched):\(faults.joined())\n  "
            + "the steps up to the first violation: \(steps.joined())"
    }
}

extension Transcript.Step {
    /// A short description for messages.
    fileprivate var brief: String {
        switch self {
        case .savedState: return "saved its state"
        case .returnedToSavedState: return "returned to its saved state"
        case .discardedState: return "discarded its state"
        case .received(let received):
            let request = received.request
            let since = request.since.map { "since \($0)" } ?? "without a cursor"
            let marks = (request.isHalfClosed ? " half-closed" : "") + (request.isSlow ? " slow" : "")
            let took = received.at > request.at ? (received.at - request.at) / 1_000_000 : 0
            return "life \(request.life), \(request.kind) \(since)\(marks), after \(took) ms: \(received.content.brief)"
        }
    }
}

extension Received.Content {
    fileprivate var isCursorOnly: Bool {
        if case .cursorOnly = self { true } else { false }
    }

    fileprivate var brief: String {
        switch self {
        case .state(let state): "\(kind) \(state.jsonText())"
        case .changes(let changes): "\(kind) \(changes.jsonText())"
        case .commit(let commit): "\(kind) \(commit.jsonText())"
        case .cursorOnly(let cursor, _), .absent(let cursor), .missing(let cursor): "\(kind) \(cursor)"
        default: "\(self)"
        }
    }

    /// The name under which the tally counts the content.
    var kind: String {
        switch self {
        case .state(let state): state.isReset ? "resets" : "states"
        case .changes(let changes): changes.changes.isEmpty ? "answers without changes" : "answers with changes"
        case .commit: "events"
        case .cursorOnly: "cursors without events"
        case .absent, .missing: "absences"
        case .ended: "ends of streams"
        case .refused: "refusals"
        case .disconnected: "disconnections"
        case .disconnectedMidAnswer: "disconnections in the middle of an answer"
        case .lost: "lost connections"
        case .noAnswer: "requests without an answer"
        case .unexpected: "unexpected answers"
        }
    }
}
