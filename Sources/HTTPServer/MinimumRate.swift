/// Checks that a transfer (the receipt of a request, or the sending of an answer) has at least the minimum rate of 64
/// KiB per second, averaged over a second.
struct MinimumRate {
    static let bytesPerSecond = 64 << 10

    /// The time at which the transfer falls below the minimum rate unless more bytes are transferred. Each transferred
    /// byte moves the deadline to a later time, at most to one second after the transfer of the byte.
    private var deadline: UInt64

    init(at now: UInt64) { deadline = now &+ TransportLimits.second }

    mutating func recordTransfer(of bytes: Int, at now: UInt64) {
        let time = UInt64(bytes) * TransportLimits.second / UInt64(Self.bytesPerSecond)
        deadline = min(max(deadline, now) &+ time, now &+ TransportLimits.second)
    }

    func isTooSlow(at now: UInt64) -> Bool { now > deadline }
}
