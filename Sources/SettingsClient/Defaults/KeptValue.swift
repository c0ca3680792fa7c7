internal import SettingsModel
internal import Synchronization

/// A value that is read once and kept until it is forgotten.
final class KeptValue<Value: Sendable>: Sendable {
    private let shared = Mutex(Shared())

    private struct Shared {
        var value: Value?
        /// How often it was forgotten: what was read before that is not kept.
        var generation = 0
    }

    func value(_ read: () -> Value) -> Value {
        let (known, generation) = shared.withLock { ($0.value, $0.generation) }
        if let known { return known }
        let value = read()
        return shared.withLock { shared in
            // All who read at the same time go on with the value of the first.
            if let first = shared.value { return first }
            if shared.generation == generation { shared.value = value }
            return value
        }
    }

    func forget() {
        shared.withLock { shared in
            shared.value = nil
            shared.generation += 1
        }
    }
}
