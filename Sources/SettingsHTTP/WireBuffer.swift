/// What whoever drives an exchange brings.
package enum WireBuffer {
    /// As much as a socket usually has at once.
    static let size = 65536

    /// As `poll` wants it: rounded up, so that a time that is over is over.
    package static func milliseconds(until time: ContinuousClock.Instant) -> Int32 {
        let (seconds, fraction) = (time - .now).components
        guard seconds >= 0, fraction >= 0 else { return 0 }
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        return Int32(seconds * 1000 + (fraction + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
