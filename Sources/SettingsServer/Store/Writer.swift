internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A queue that decides writes in turns, each covered by one sync (group commit).
///
/// The writer takes what gathered while it was busy, and decides it in turns of a bounded length. Writes that take long wait
/// in a line of their own: one of them is decided after all that gathered of the others.
final class Writer: Sendable {
    private let inbox = Mutex(Inbox())
    private let queue = DispatchQueue(label: "settingsd.writer", qos: .userInitiated)
    private let limits: WriteLimits
    private let session: WriterSession

    private struct Inbox {
        var waiting = Line()
        var long = Deque<(parcel: Parcel, since: UInt64)>()
        var longBytes = 0
        var isScheduled = false
        var isStopping = false

        struct Line {
            var parcels: [Parcel] = []
            var count = 0
            var bytes = 0
        }
    }

    /// Writes of one caller that came together.
    struct Parcel: Sendable {
        var writes: [PendingWrite]
        let replies: any WriteReplies
    }

    init(
        _ state: State, published: Published, log: any CommitLog, limits: WriteLimits,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.limits = limits
        session = WriterSession(state, published: published, log: log, limits: limits, clock: clock)
    }

    /// True if so many writes wait that callers should send one at a time.
    var isBusy: Bool { inbox.withLock { $0.waiting.count >= limits.busyCount } }

    func submit(_ writes: [PendingWrite], replies: any WriteReplies) -> [PendingWrite] {
        let now = MonotonicClock.system.now()
        var refused: [PendingWrite] = []
        let mustSchedule = inbox.withLock { inbox in
            var taken: [PendingWrite] = []
            taken.reserveCapacity(writes.count)
            for write in writes {
                let size = write.request.size
                if write.request.isLong, inbox.longBytes + size <= limits.waitingBytes {
                    inbox.longBytes += size
                    inbox.long.append((Parcel(writes: [write], replies: replies), now))
                } else if !write.request.isLong, inbox.waiting.bytes + size <= limits.waitingBytes {
                    inbox.waiting.bytes += size
                    taken.append(write)
                } else {
                    refused.append(write)
                }
            }
            if !taken.isEmpty {
                inbox.waiting.count += taken.count
                inbox.waiting.parcels.append(Parcel(writes: taken, replies: replies))
            }
            guard refused.count < writes.count else { return false }
            defer { inbox.isScheduled = true }
            return !inbox.isScheduled
        }
        if mustSchedule { queue.async { self.work() } }
        return refused
    }

    func whenIdle(_ body: @escaping @Sendable (State) -> Void) {
        queue.async {
            self.work()
            body(self.session.publishedState)
        }
    }

    /// Refuses long writes from now on, those that wait included.
    func stopping() {
        inbox.withLock { $0.isStopping = true }
    }

    func tend() {
        queue.async { self.session.tend() }
    }

    /// Decides what waits until nothing does.
    private func work() {
        dispatchPrecondition(condition: .onQueue(queue))
        while true {
            let (line, long, isStopping) = inbox.withLock { inbox in
                defer { inbox.waiting = Inbox.Line() }
                let long = inbox.long.popFirst()
                inbox.longBytes -= long?.parcel.writes.first?.request.size ?? 0
                if inbox.waiting.parcels.isEmpty, long == nil { inbox.isScheduled = false }
                return (inbox.waiting, long, inbox.isStopping)
            }
            guard !line.parcels.isEmpty || long != nil else { return }
            session.decide(line.parcels)
            guard let long else { continue }
            let waited = MonotonicClock.system.now() &- long.since
            if isStopping || waited > limits.patience {
                session.refuse(long.parcel, because: isStopping ? .shuttingDown : .tooManyWrites)
            } else {
                session.decide([long.parcel])
            }
        }
    }
}
