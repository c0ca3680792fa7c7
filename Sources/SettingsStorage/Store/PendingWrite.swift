internal import Platform
internal import SettingsAPI
package import SettingsEngine

/// Identifies a write to the receiver of its result. The receiver chooses the value.
package struct WriteID: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt32

    package init(high: UInt64 = 0, low: UInt32) {
        self.high = high
        self.low = low
    }
}

/// A write on its way from an event loop to its result.
package final class PendingWrite: Sendable {
    package let id: WriteID
    package let request: WriteRequest
    /// Gets the result.
    let receiver: any WriteReceiver
    /// The caller in whose name the write waits. Writes without a caller share one place in the queue.
    let caller: ClientKey?
    /// The nanoseconds that the decision is estimated to take.
    let estimatedTime: UInt64
    /// The monotonic time at which the write was queued.
    let arrival: UInt64

    init(
        id: WriteID, request: WriteRequest, receiver: any WriteReceiver, caller: ClientKey?, estimatedTime: UInt64,
        arrival: UInt64
    ) {
        self.id = id
        self.request = request
        self.receiver = receiver
        self.caller = caller
        self.estimatedTime = estimatedTime
        self.arrival = arrival
    }

    /// Cheap writes go before costly writes for a bounded time.
    var isCostly: Bool { estimatedTime >= Self.costlyTime }

    /// The estimated nanoseconds from which a write is costly.
    package static let costlyTime: UInt64 = 1_000_000
    /// The nanoseconds that deciding a write of one short value takes.
    package static let leastTime: UInt64 = 10_000
}

/// A receiver of the results of writes.
package protocol WriteReceiver: AnyObject, Sendable {
    /// Takes results in the order in which the writes were decided. Runs on the commit thread; must not block.
    func deliver(_ results: [WriteResult])
}
