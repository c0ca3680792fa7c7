internal import Dispatch
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A queue that decides writes in batches, each covered by one sync (group commit).
///
/// A batch is what gathered while the one before was made durable. It is answered after its sync, also the refusals, since
/// they may rest on what was staged.
final class Writer: Sendable {
    private let inbox = Mutex(Inbox())
    private let queue = DispatchQueue(label: "settingsd.writer", qos: .userInitiated)
    private let limits: WriteLimits
    private let session: WriterSession

    private struct Inbox {
        var waiting: [Parcel] = []
        var bytes = 0
        var isScheduled = false
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
        session = WriterSession(
            state, published: published, log: log, opensSuites: limits.opensSuites, clock: clock)
    }

    func submit(_ writes: [PendingWrite], replies: any WriteReplies) -> Int {
        let (taken, mustSchedule) = inbox.withLock { inbox in
            var taken = 0
            while taken < writes.count, inbox.bytes + writes[taken].request.size <= limits.waitingBytes {
                inbox.bytes += writes[taken].request.size
                taken += 1
            }
            guard taken > 0 else { return (0, false) }
            let accepted = taken == writes.count ? writes : Array(writes[..<taken])
            inbox.waiting.append(Parcel(writes: accepted, replies: replies))
            defer { inbox.isScheduled = true }
            return (taken, !inbox.isScheduled)
        }
        if mustSchedule { queue.async { self.work() } }
        return taken
    }

    func whenIdle(_ body: @escaping @Sendable (State) -> Void) {
        queue.async {
            self.work()
            body(self.session.publishedState)
        }
    }

    func tend() {
        queue.async { self.session.tend() }
    }

    /// Decides what waits until nothing does.
    private func work() {
        dispatchPrecondition(condition: .onQueue(queue))
        while true {
            let parcels = inbox.withLock { inbox -> [Parcel] in
                inbox.bytes = 0
                defer { inbox.waiting = [] }
                if inbox.waiting.isEmpty { inbox.isScheduled = false }
                return inbox.waiting
            }
            guard !parcels.isEmpty else { return }
            for batch in batches(of: parcels) { session.decide(batch) }
        }
    }

    /// Cuts what waits into batches of a bounded size, each to be covered by one sync.
    private func batches(of parcels: [Parcel]) -> [[Parcel]] {
        var batches: [[Parcel]] = [[]]
        var (count, bytes) = (0, 0)
        for parcel in parcels {
            var rest = parcel.writes[...]
            while let first = rest.first {
                if count >= limits.batchCount || (count > 0 && bytes + first.request.size > limits.batchBytes) {
                    batches.append([])
                    (count, bytes) = (0, 0)
                }
                var end = rest.startIndex
                while end < rest.endIndex, count < limits.batchCount,
                    end == rest.startIndex || bytes + rest[end].request.size <= limits.batchBytes
                {
                    count += 1
                    bytes += rest[end].request.size
                    end += 1
                }
                batches[batches.count - 1].append(Parcel(writes: Array(rest[..<end]), replies: parcel.replies))
                rest = rest[end...]
            }
        }
        return batches
    }
}
