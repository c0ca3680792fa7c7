internal import Platform
internal import SettingsAPI
internal import SettingsEngine

/// The writes and tasks that wait for the writer, with the marks of what is in use. The writer holds it behind a lock.
struct WriterInbox {
    var waiting: [WriteParcel] = []
    var waitingBytes = 0
    /// The long writes, each in a parcel of its own.
    var long = FairQueue<ClientKey?, WriteParcel>()
    var longBytes = 0
    var isTendingDue = false
    /// Called in the next turn.
    var probes: [@Sendable () -> Void] = []
    /// Called when nothing else is left to do.
    var idle: [@Sendable (State) -> Void] = []
    /// True while a thread uses the decider, or the queue is about to.
    var isTaken = false
    /// True while a loop uses the flusher, or the queue is about to flush what loops decided.
    var isFlushing = false
    /// What was decided and waits for a flush, in order.
    var decided: WriteTurn?
    /// The last revision that is durable.
    var confirmed = Revision.zero
    /// A flush that failed, so that what was decided is to be refused, and the decider to be recalled.
    var failure: TurnFlusher.Failure?
    var isStopping = false

    /// Takes the writer if it is free.
    mutating func take() -> Bool {
        defer { isTaken = true }
        return !isTaken
    }

    /// Takes the writer for a parcel that its caller decides, if it is free, and if what waits for the flush has room for it.
    /// Returns the last revision that is durable; nil if not.
    mutating func takeToDecide(_ parcel: WriteParcel, _ limits: WriteLimits) -> Revision? {
        if let decided {
            // What waits for the queue instead is refused when it has waited too long.
            let isStalled = parcel.since > (decided.oldest ?? parcel.since) + limits.patience / 10
            let count = decided.count + parcel.writes.count
            guard !isStalled, count <= limits.batchCount, decided.bytes + parcel.bytes <= limits.batchBytes else {
                return nil
            }
        }
        return take() ? confirmed : nil
    }

    /// Takes the flush if it is free.
    mutating func takeFlush() -> Bool {
        defer { isFlushing = true }
        return !isFlushing
    }

    /// Takes what is to be flushed next; nil if there is nothing, so that the flush is free, or if a flush has failed.
    mutating func nextToFlush() -> WriteTurn? {
        guard failure == nil else { return nil }
        isFlushing = decided != nil
        return decided.take()
    }

    /// Leaves the writer, unless there is more to do for it, which is left to the queue then. Returns false in that case.
    mutating func leave() -> Bool {
        isTaken =
            !waiting.isEmpty || !long.isEmpty || isTendingDue || !probes.isEmpty || !idle.isEmpty || failure != nil
        return !isTaken
    }

    mutating func takeWaiting() -> WriteDecider.Line {
        defer { (waiting, waitingBytes) = ([], 0) }
        return WriteDecider.Line(waiting)
    }

    mutating func add(decided turn: consuming WriteTurn) {
        if decided == nil { decided = turn } else { decided?.append(turn) }
    }

    mutating func add(long parcels: [WriteParcel]) {
        for parcel in parcels { add(long: parcel) }
    }

    mutating func add(long parcel: WriteParcel) {
        longBytes += parcel.bytes
        long.append(parcel, for: parcel.writes.first?.client)
    }
}

/// Writes of one caller that came together.
struct WriteParcel: Sendable {
    var writes: [PendingWrite]
    let replies: any WriteReplies
    /// When they came.
    let since: UInt64

    var bytes: Int { writes.reduce(0) { $0 + $1.request.size } }

    /// Returns a part of the parcel, less the writes at some places.
    func part(_ range: Range<Int>, without places: [Int]) -> WriteParcel {
        if range == writes.indices, places.isEmpty { return self }
        var part = self
        part.writes = range.filter { !places.contains($0) }.map { writes[$0] }
        return part
    }
}
