import SettingsAPI
import SettingsModel

/// A check of what one watcher got against every commit.
///
/// It must have got each commit that concerns it once, whole, in order and as it was, unless a reset with all that
/// there is stands between; and that there is nothing only when the time was up.
struct TranscriptCheck {
    let record: StormRecord
    let transcript: Transcript
    /// What is wrong, each with the step that shows it.
    private(set) var violations: [(step: Int, text: String)] = []
    /// The number of answers of each kind.
    private(set) var tally: [String: Int] = [:]

    /// The commits that concern the watcher, with the changes that it must get.
    let concerning: [Concern]
    var known: Known
    private var kept: Known?
    /// The furthest cursor so far.
    private var furthest = Revision.zero
    /// When something last came on a stream.
    private var lastHeard: UInt64 = 0
    private var step = 0
    /// True if the last event of a stream said that the suite is missing.
    var isMissing = false

    struct Concern {
        let commit: Commit
        let changes: [Change]
    }

    /// What the watcher knows, and what it should.
    struct Known {
        var cursor: Revision?
        /// The values that follow from the answers.
        var view: [SuiteName: [KeyName: JSONValue]] = [:]
        var model: WatchedModel
        /// How many of the commits the model has.
        var position = 0
    }

    /// - Parameter isComplete: true if the watcher asked on to the end.
    init(_ transcript: Transcript, _ record: StormRecord, isComplete: Bool = true) {
        self.transcript = transcript
        self.record = record
        let watched = transcript.watched
        concerning = record.truth.commits.filter(watched.concerns).map {
            Concern(commit: $0, changes: watched.changes(of: $0))
        }
        known = Known(model: WatchedModel(watched))
        for (number, next) in transcript.steps.enumerated() {
            step = number
            switch next {
            case .heard(let hearing): judge(hearing)
            case .kept: kept = known
            case .wentBack: kept.map { known = $0 }
            case .forgot: (known.cursor, known.view) = (nil, [:])
            }
        }
        if isComplete, furthest < record.truth.last {
            refuse("it ends at \(furthest), before \(record.truth.last)")
        }
    }

    private mutating func judge(_ hearing: Hearing) {
        let ask = hearing.ask
        tally[hearing.told.kind, default: 0] += 1
        switch hearing.told {
        case .state(let state): judge(state, hearing)
        case .changes(let changes): judge(changes, hearing)
        case .commit(let commit): judge(commit, hearing)
        case .place(let cursor, let isLast): judge(place: cursor, isLast: isLast, hearing)
        case .absent(let cursor):
            judge(absentAt: cursor, hearing)
            if hearing.ask.waitsForSuite { judgeQuiet(hearing) }
        case .missing(let cursor):
            judge(absentAt: cursor, hearing)
            known.view = [:]
            settle(at: cursor.revision)
        case .ended:
            if !ask.isHalfClosed && !isStopping(hearing) { refuse("the stream ended") }
        case .refused:
            if !isStopping(hearing) { refuse("it was told of a stop that was none") }
        case .left: judgeLeaving(hearing)
        case .lost: judgeLoss(hearing)
        case .tore: break
        case .silence: refuse("nothing came long after the time was up")
        case .nonsense(let text): refuse(text)
        }
        lastHeard = hearing.at
        isMissing = if case .missing = hearing.told { true } else { isMissing && hearing.told.isPlace }
    }

    mutating func refuse(_ text: String) {
        violations.append((step, text))
    }

    mutating func count(_ what: String) {
        tally[what, default: 0] += 1
    }

    /// True if the daemon was asked to stop by then.
    func isStopping(_ hearing: Hearing) -> Bool {
        guard hearing.ask.life < record.lives.count else { return false }
        let life = record.lives[hearing.ask.life]
        return !life.isKilled && hearing.at >= life.endedAt
    }
}

/// Places in history.
extension TranscriptCheck {
    /// Takes a cursor in; false if nothing can be judged by it.
    mutating func take(_ cursor: Cursor, _ hearing: Hearing, from known: Revision, isNewest: Bool) -> Bool {
        guard cursor.epoch == record.truth.epoch else {
            refuse("the cursor \(cursor) is of another epoch than \(record.truth.epoch)")
            return false
        }
        guard cursor.revision >= known else {
            refuse("the cursor goes back from \(known) to \(cursor.revision)")
            return false
        }
        if isNewest, cursor.revision < furthest {
            refuse("the cursor \(cursor.revision) is before \(furthest), which was told of before")
            return false
        }
        if hearing.ask.life < record.lives.count, cursor.revision > record.lives[hearing.ask.life].last {
            refuse("the cursor \(cursor.revision) is ahead of all that was committed in life \(hearing.ask.life)")
            return false
        }
        furthest = max(furthest, cursor.revision)
        return true
    }

    /// The commits after the known ones that are due up to a place.
    func expected(upTo revision: Revision) -> ArraySlice<Concern> {
        let rest = concerning[known.position...]
        return rest.prefix { $0.commit.revision <= revision }
    }

    /// Brings the model to a place.
    mutating func advance(to revision: Revision) {
        for concern in expected(upTo: revision) {
            if let fault = known.model.apply(concern.commit) { refuse("the journal itself: \(fault)") }
            known.position += 1
        }
    }

    /// Brings the watcher's knowledge to a place, and compares its values with what is there.
    mutating func settle(at revision: Revision) {
        advance(to: revision)
        known.cursor = revision
        let there = known.model.suites.mapValues(\.values).filter { !$0.value.isEmpty }
        let view = known.view.filter { !$0.value.isEmpty }
        if there != view { refuse("at \(revision) it has \(view) where \(there) is") }
    }

    /// Takes changes in; each must begin where the one before it ended.
    mutating func take(_ changes: [Change]) {
        for change in changes {
            let before = known.view[change.suite]?[change.key]
            if before != change.old { refuse("\(change.brief) begins where nothing ended") }
            known.view[change.suite, default: [:]][change.key] = change.new
        }
    }
}

/// Time.
extension TranscriptCheck {
    /// An answer without changes must not come before the time is up.
    mutating func judgeQuiet(_ hearing: Hearing) {
        let took = hearing.at &- hearing.ask.at
        guard !hearing.ask.isHalfClosed else {
            if took > Patience.telling { refuse("its closing was noticed after \(took / 1_000_000) ms only") }
            return
        }
        guard took < hearing.ask.least, !isStopping(hearing) else { return }
        refuse("it was told of nothing after \(took / 1_000_000) ms of \(hearing.ask.wait) s")
    }

    /// A commit must reach its watchers soon.
    mutating func judgeDelay(of concern: Concern, _ hearing: Hearing) {
        guard !hearing.ask.isSlow, let known = record.acknowledged[concern.commit.revision] else { return }
        let since = max(known, hearing.ask.at)
        guard hearing.at > since, hearing.at - since > Patience.telling else { return }
        refuse("\(concern.commit.revision) was told, or not, \((hearing.at - since) / 1_000_000) ms later")
    }

    private mutating func judgeLeaving(_ hearing: Hearing) {
        guard let cursor = known.cursor, !record.isForgotten(cursor, at: record.truth.last) else { return }
        if let next = concerning[known.position...].first { judgeDelay(of: next, hearing) }
    }

    private mutating func judgeLoss(_ hearing: Hearing) {
        let isOver = hearing.ask.life < record.lives.count && hearing.at >= record.lives[hearing.ask.life].endedAt
        if hearing.ask.isSlow, !isOver { count("slow readers cut off") }
        guard !hearing.ask.isSlow, hearing.ask.life < record.lives.count else { return }
        let life = record.lives[hearing.ask.life]
        if hearing.at < life.endedAt {
            if case .stream = hearing.ask.form, waitingBytes(hearing) > 1 << 20 {
                // It may have been cut off: readers that take each event apart before the next do not always keep up.
                count("readers cut off that were behind")
            } else {
                refuse("the connection was lost to a daemon that was well")
            }
        }
        if !life.isKilled, hearing.ask.at + Patience.telling / 4 < life.endedAt {
            refuse("the daemon stopped and said nothing")
        }
    }

    /// How much was certainly sent, and not read, when something came.
    private func waitingBytes(_ hearing: Hearing) -> Int {
        concerning[known.position...].reduce(0) { bytes, next in
            guard let known = record.acknowledged[next.commit.revision], known < hearing.at else { return bytes }
            return next.changes.reduce(bytes) {
                $0 + ($1.old?.jsonText().utf8.count ?? 0) + ($1.new?.jsonText().utf8.count ?? 0)
            }
        }
    }

    mutating func judge(place cursor: Cursor, isLast: Bool, _ hearing: Hearing) {
        guard let cursorBefore = known.cursor else { return refuse("a place is told before any state") }
        guard take(cursor, hearing, from: cursorBefore, isNewest: false) else { return }
        for missed in expected(upTo: cursor.revision) {
            refuse("\(cursor) passes over \(missed.commit.revision), which was not told")
        }
        // The end of a stream has the place, too.
        if !isLast, !hearing.ask.isSlow, hearing.at - max(lastHeard, hearing.ask.at) < 14_000_000_000 {
            refuse("a stream was kept alive that had not been silent")
        }
        settle(at: cursor.revision)
    }

    /// What is wrong, with the seed and what came before.
    func report(seed: UInt64, last: Int = 12) -> String {
        let first = violations.first?.step ?? 0
        let steps = transcript.steps[..<min(first + 1, transcript.steps.count)].suffix(last).map { "\n    \($0.brief)" }
        let faults = violations.prefix(5).map { "\n  step \($0.step): \($0.text)" }
        return "seed \(seed), watcher \(transcript.number), \(transcript.watched):\(faults.joined())\n  "
            + "the steps up to the first: \(steps.joined())"
    }
}

extension Transcript.Step {
    /// What a message says of it.
    fileprivate var brief: String {
        switch self {
        case .kept: return "kept"
        case .wentBack: return "went back"
        case .forgot: return "forgot"
        case .heard(let hearing):
            let ask = hearing.ask
            let since = ask.since.map { "since \($0)" } ?? "from nowhere"
            let marks = (ask.isHalfClosed ? " half-closed" : "") + (ask.isSlow ? " slow" : "")
            let took = hearing.at > ask.at ? (hearing.at - ask.at) / 1_000_000 : 0
            return "life \(ask.life), \(ask.form) \(since)\(marks), after \(took) ms: \(hearing.told.brief)"
        }
    }
}

extension Hearing.Told {
    fileprivate var isPlace: Bool {
        if case .place = self { true } else { false }
    }

    fileprivate var brief: String {
        switch self {
        case .state(let state): "\(kind) \(state.jsonText())"
        case .changes(let changes): "\(kind) \(changes.jsonText())"
        case .commit(let commit): "\(kind) \(commit.jsonText())"
        case .place(let cursor, _), .absent(let cursor), .missing(let cursor): "\(kind) \(cursor)"
        default: "\(self)"
        }
    }

    /// What it is, for counting.
    var kind: String {
        switch self {
        case .state(let state): state.isReset ? "resets" : "states"
        case .changes(let changes): changes.changes.isEmpty ? "answers without changes" : "answers with changes"
        case .commit: "events"
        case .place: "places"
        case .absent, .missing: "absences"
        case .ended: "ends of streams"
        case .refused: "refusals"
        case .left: "leavings"
        case .tore: "torn answers"
        case .lost: "lost connections"
        case .silence: "silences"
        case .nonsense: "nonsense"
        }
    }
}
