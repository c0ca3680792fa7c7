internal import SettingsAPI
internal import SettingsEngine

/// Writes that were decided, and are answered once what they staged is durable.
struct WriteTurn: Sendable {
    /// The outcomes of those writes of a parcel that are of one turn.
    struct Answer: Sendable {
        let replies: any WriteReplies
        /// When the parcel came.
        let since: UInt64
        var outcomes: [WriteOutcome] = []
    }

    var answers: [Answer] = []
    /// From here on answers rest on what is not durable yet.
    var firstStaged: (answer: Int, outcome: Int)?
    /// The state after what was staged; nil if nothing was.
    var state: State?
    /// Why a commit does not fit the state: a defect, for which nothing of the turn is made durable.
    var mismatch: CommitMismatch?
    /// When the first write came that a flush is to make durable, or to confirm; nil if there is none.
    var oldest: UInt64?
    /// The writes that were decided, their bytes, when that began, and the nanoseconds that it took.
    var count = 0
    var bytes = 0
    var start: UInt64 = 0
    var time: UInt64 = 0
    /// Writes that turned out to be long, to be decided after others.
    var long: [WriteParcel] = []
    /// True if loops decided it: each write is of one short value.
    var isQuick = false
    /// The writes themselves, if other daemons may be first, after which they are decided again.
    var decided: [WriteParcel] = []

    /// Adds a turn that was decided on the state after this one, to be made durable together. Its long writes were taken, and no
    /// other daemon takes part.
    mutating func append(_ next: WriteTurn) {
        guard count > 0 else { return self = next }
        if firstStaged == nil {
            firstStaged = next.firstStaged.map { ($0.answer + answers.count, $0.outcome) }
        }
        answers += next.answers
        (state, mismatch) = (next.state ?? state, mismatch ?? next.mismatch)
        oldest = [oldest, next.oldest].compactMap(\.self).min()
        count += next.count
        bytes += next.bytes
        time += next.time
        isQuick = isQuick && next.isQuick
    }

    /// Returns the writes that turned out to be long, which it has no longer.
    mutating func takeLong() -> [WriteParcel] {
        defer { long = [] }
        return long
    }
}
