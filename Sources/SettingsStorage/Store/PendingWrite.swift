internal import Platform
internal import SettingsAPI
package import SettingsEngine

/// The identifier of a write. The receiver of the result chooses both numbers, and uses the identifier to find the
/// request that the result answers.
package struct WriteID: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt32

    package init(high: UInt64 = 0, low: UInt32) {
        self.high = high
        self.low = low
    }
}

/// A queued write: its request, the data that determine its position in the queue, and the receiver of its result.
package final class PendingWrite: Sendable {
    package let id: WriteID
    package let request: WriteRequest
    let receiver: any WriteReceiver
    /// The client that sent the write. The queue serves clients in turn, and counts all writes with nil as one client.
    let client: ClientKey?
    /// The estimated nanoseconds for deciding the write: checking it, and computing its commit or its refusal.
    let estimatedTime: UInt64
    /// The monotonic time, in nanoseconds, at which the write was queued.
    let arrival: UInt64

    init(
        id: WriteID, request: WriteRequest, receiver: any WriteReceiver, client: ClientKey?, estimatedTime: UInt64,
        arrival: UInt64
    ) {
        self.id = id
        self.request = request
        self.receiver = receiver
        self.client = client
        self.estimatedTime = estimatedTime
        self.arrival = arrival
    }

    /// True if deciding the write noticeably delays other writes. ``WriteQueue`` delays a costly write while cheap
    /// writes wait, for at most ``WriteLimits/maximumYield``.
    var isCostly: Bool { estimatedTime >= Self.costlyThreshold }

    /// A write with at least this estimated time, in nanoseconds, is costly.
    package static let costlyThreshold: UInt64 = 1_000_000
    /// The nanoseconds that deciding a write of one short value takes, which is the minimum of an estimate.
    package static let minimumTime: UInt64 = 10_000
}

package protocol WriteReceiver: AnyObject, Sendable {
    /// Receives results, in the order in which the writes were decided. Runs on the commit thread. Must not block.
    func deliver(_ results: [WriteResult])
}
