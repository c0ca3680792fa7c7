package import Dispatch

extension DispatchTime {
    /// When a pause that begins now is over.
    package static func after(_ pause: Duration) -> DispatchTime {
        let (seconds, fraction) = pause.components
        // As good as forever, and short enough to be added to a time.
        return .now() + .seconds(Int(min(seconds, 1 << 31))) + .nanoseconds(Int(fraction / 1_000_000_000))
    }
}
